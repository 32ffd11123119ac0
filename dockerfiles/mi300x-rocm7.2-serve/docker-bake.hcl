# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
target "mi300x-rocm7-2-serve" {
  context = "."
  args = { SOURCE_DATE_EPOCH = "1795392000" }
  tags = ["doctor/mi300x-rocm7.2-serve"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=mi300x-rocm7.2-serve.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["mi300x-rocm7-2-serve"] }
