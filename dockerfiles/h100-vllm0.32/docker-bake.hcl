# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
target "h100-vllm0-32" {
  context = "."
  args = { SOURCE_DATE_EPOCH = "1795392000" }
  tags = ["doctor/h100-vllm0.32"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=h100-vllm0.32.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["h100-vllm0-32"] }
