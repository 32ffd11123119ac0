# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
# The folder that `doctor image context` writes: the doctor that goes into the image.
variable "DOCTOR" { default = "../doctor-context" }
target "h100-deepspeed0-19" {
  context = "."
  contexts = { doctor = "${DOCTOR}" }
  args = { SOURCE_DATE_EPOCH = "1795219200" }
  tags = ["doctor/h100-deepspeed0.19"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=h100-deepspeed0.19.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["h100-deepspeed0-19"] }
