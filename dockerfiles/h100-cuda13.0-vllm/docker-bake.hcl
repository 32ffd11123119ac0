# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
target "h100-cuda13-0-vllm" {
  context = "."
  args = { SOURCE_DATE_EPOCH = "1795219200" }
  tags = ["doctor/h100-cuda13.0-vllm"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=h100-cuda13.0-vllm.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["h100-cuda13-0-vllm"] }
