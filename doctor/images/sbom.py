"""What is in an image -> a CycloneDX bill of materials, as JSON. The same image gives the same bytes."""

from __future__ import annotations

import datetime
import shutil
import subprocess
import uuid
from pathlib import Path
from typing import Any

from doctor.errors import InputError
from doctor.images.oci import Image
from doctor.images.provenance import deb_url, wheel_url
from doctor.images.recipe import Recipe
from doctor.images.scan import Findings
from doctor.parsers.python.dist_info import normal


def sbom(recipe: Recipe, image: Image, found: Findings) -> str:
    """Raises InputError where the library is not installed."""
    try:
        from cyclonedx.model.bom import Bom
        from cyclonedx.model.component import Component, ComponentType
        from cyclonedx.output import make_outputter
        from cyclonedx.schema import OutputFormat, SchemaVersion
    except ImportError as error:
        raise InputError("the bill of materials needs the extra: pip install 'rocm-cuda-doctor[image]'") from error
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_OID, image.digest))
    bom.metadata.timestamp = datetime.datetime.fromtimestamp(recipe.epoch, datetime.timezone.utc)
    bom.metadata.component = Component(
        type=ComponentType.CONTAINER, name=recipe.name, version=image.digest, bom_ref=f"image:{image.digest}"
    )
    for name, (version, architecture) in sorted(found.debs.items()):
        bom.components.add(_component(name, version, deb_url(recipe.base, name, version, architecture)))
    indexes = {normal(w.name): w.index for w in recipe.wheels or ()}
    for name, version in sorted(found.wheels.items()):
        bom.components.add(_component(name, version, wheel_url(name, version, indexes.get(normal(name)))))
    bom.register_dependency(bom.metadata.component, sorted(bom.components))
    return make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=1) + "\n"


def _component(name: str, version: str, url: str) -> Any:
    from cyclonedx.model.component import Component, ComponentType
    from packageurl import PackageURL

    purl = PackageURL.from_string(url)
    return Component(type=ComponentType.LIBRARY, name=name, version=version, purl=purl, bom_ref=url)


_SCANNERS = {"grype": ("grype", "sbom:{}"), "trivy": ("trivy", "sbom", "{}")}


def scanned(bom: Path) -> int:
    """Runs a scanner of known vulnerabilities that is installed over a bill of materials; its exit code. Raises
    InputError."""
    if not bom.is_file():
        raise InputError(f"{bom}: no such file; `doctor image build` writes it")
    program = next(filter(shutil.which, _SCANNERS), None)
    if program is None:
        raise InputError(f"no scanner is installed (known: {', '.join(_SCANNERS)})")
    try:
        return subprocess.run([word.format(bom.resolve()) for word in _SCANNERS[program]], timeout=3600).returncode
    except (subprocess.TimeoutExpired, OSError) as error:
        raise InputError(f"{program}: {error}") from error
