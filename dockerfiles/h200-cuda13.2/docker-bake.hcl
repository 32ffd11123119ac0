# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
# The folder that `doctor image context` writes: the doctor that goes into the image.
variable "DOCTOR" { default = "../doctor-context" }
target "h200-cuda13-2" {
  context = "."
  contexts = { doctor = "${DOCTOR}" }
  args = { SOURCE_DATE_EPOCH = "1795132800" }
  tags = ["doctor/h200-cuda13.2"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=h200-cuda13.2.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["h200-cuda13-2"] }
