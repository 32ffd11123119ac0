# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
target "l40s-cuda13-0-serve" {
  context = "."
  args = { SOURCE_DATE_EPOCH = "1795392000" }
  tags = ["doctor/l40s-cuda13.0-serve"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=l40s-cuda13.0-serve.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["l40s-cuda13-0-serve"] }
