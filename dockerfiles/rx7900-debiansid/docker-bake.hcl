# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
# The folder that `doctor image context` writes: the doctor that goes into the image.
variable "DOCTOR" { default = "../doctor-context" }
target "rx7900-debiansid" {
  context = "."
  contexts = { doctor = "${DOCTOR}" }
  args = { SOURCE_DATE_EPOCH = "1795219200" }
  tags = ["doctor/rx7900-debiansid"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=rx7900-debiansid.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["rx7900-debiansid"] }
