# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
target "mi355x-rocm7-2-train" {
  context = "."
  args = { SOURCE_DATE_EPOCH = "1795392000" }
  tags = ["doctor/mi355x-rocm7.2-train"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=mi355x-rocm7.2-train.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["mi355x-rocm7-2-train"] }
