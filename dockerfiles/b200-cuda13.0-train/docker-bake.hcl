# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
# The folder that `doctor image context` writes: the doctor that goes into the image.
variable "DOCTOR" { default = "../doctor-context" }
target "b200-cuda13-0-train" {
  context = "."
  contexts = { doctor = "${DOCTOR}" }
  args = { SOURCE_DATE_EPOCH = "1795132800" }
  tags = ["doctor/b200-cuda13.0-train"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=b200-cuda13.0-train.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["b200-cuda13-0-train"] }
