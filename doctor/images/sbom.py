"""What is in an image -> a CycloneDX bill of materials, as JSON. The same image gives the same bytes."""

from __future__ import annotations

import datetime
import uuid
from typing import Any

from doctor.errors import InputError
from doctor.images.oci import Image
from doctor.images.scan import Findings


def sbom(name: str, image: Image, found: Findings, epoch: int) -> str:
    """Raises InputError where the library is not installed."""
    try:
        from cyclonedx.model.bom import Bom
        from cyclonedx.model.component import Component, ComponentType
        from cyclonedx.output import make_outputter
        from cyclonedx.schema import OutputFormat, SchemaVersion
    except ImportError as error:
        raise InputError("the bill of materials needs the extra: pip install 'rocm-cuda-doctor[image]'") from error
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_OID, image.digest))
    bom.metadata.timestamp = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    bom.metadata.component = Component(
        type=ComponentType.CONTAINER, name=name, version=image.digest, bom_ref=f"image:{image.digest}"
    )
    for kind, rows in (("deb", found.debs), ("pypi", found.wheels)):
        for package, version in sorted(rows.items()):
            bom.components.add(_component(kind, package, version))
    bom.register_dependency(bom.metadata.component, sorted(bom.components))
    return make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=1) + "\n"


def _component(kind: str, package: str, version: str) -> Any:
    from cyclonedx.model.component import Component, ComponentType
    from packageurl import PackageURL

    url = PackageURL(kind, None, package, version)
    return Component(type=ComponentType.LIBRARY, name=package, version=version, purl=url, bom_ref=str(url))
