# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
# The folder that `doctor image context` writes: the doctor that goes into the image.
variable "DOCTOR" { default = "../doctor-context" }
target "l40s-cuda13-0" {
  context = "."
  contexts = { doctor = "${DOCTOR}" }
  args = { SOURCE_DATE_EPOCH = "1795132800" }
  tags = ["doctor/l40s-cuda13.0"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=l40s-cuda13.0.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["l40s-cuda13-0"] }
