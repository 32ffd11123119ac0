# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
# The folder that `doctor image context` writes: the doctor that goes into the image.
variable "DOCTOR" { default = "../doctor-context" }
target "mi355x-rocm7-2" {
  context = "."
  contexts = { doctor = "${DOCTOR}" }
  args = { SOURCE_DATE_EPOCH = "1788307200" }
  tags = ["doctor/mi355x-rocm7.2"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=mi355x-rocm7.2.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["mi355x-rocm7-2"] }
