# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
# The folder that `doctor image context` writes: the doctor that goes into the image.
variable "DOCTOR" { default = "../doctor-context" }
target "mi300x-jax0-10" {
  context = "."
  contexts = { doctor = "${DOCTOR}" }
  args = { SOURCE_DATE_EPOCH = "1795219200" }
  tags = ["doctor/mi300x-jax0.10"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=mi300x-jax0.10.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["mi300x-jax0-10"] }
