# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
target "mi300x-rocm7-2" {
  context = "."
  args = { SOURCE_DATE_EPOCH = "1788307200" }
  tags = ["doctor/mi300x-rocm7.2"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=mi300x-rocm7.2.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["mi300x-rocm7-2"] }
