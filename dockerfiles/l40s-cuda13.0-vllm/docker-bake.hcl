# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
target "l40s-cuda13-0-vllm" {
  context = "."
  args = { SOURCE_DATE_EPOCH = "1795219200" }
  tags = ["doctor/l40s-cuda13.0-vllm"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=l40s-cuda13.0-vllm.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["l40s-cuda13-0-vllm"] }
