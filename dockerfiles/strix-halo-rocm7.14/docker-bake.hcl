# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.
# !!! UNLOCKED, never built.
target "strix-halo-rocm7-14" {
  context = "."
  args = { SOURCE_DATE_EPOCH = "1787270400" }
  tags = ["doctor/strix-halo-rocm7.14"]
  platforms = ["linux/amd64"]
  output = ["type=docker,dest=strix-halo-rocm7.14.tar,rewrite-timestamp=true"]
  attest = []
}
group "default" { targets = ["strix-halo-rocm7-14"] }
