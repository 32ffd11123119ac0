# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
target "rx7900-debian13" {
  context = "."
  args = { SOURCE_DATE_EPOCH = "1795392000" }
  tags = ["doctor/rx7900-debian13"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=rx7900-debian13.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["rx7900-debian13"] }
