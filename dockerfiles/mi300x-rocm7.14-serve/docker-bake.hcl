# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
# The folder that `doctor image context` writes: the doctor that goes into the image.
variable "DOCTOR" { default = "../doctor-context" }
target "mi300x-rocm7-14-serve" {
  context = "."
  contexts = { doctor = "${DOCTOR}" }
  args = { SOURCE_DATE_EPOCH = "1793491200" }
  tags = ["doctor/mi300x-rocm7.14-serve"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=mi300x-rocm7.14-serve.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["mi300x-rocm7-14-serve"] }
