/* A stand-in for NVML: answers from the text file that FILE_PATH names, one "KEY VALUE" a line.
 *
 * KEY is a word of the whole library (init, driver, count …) or N.WORD of GPU N, N.mM.WORD of its MIG device M.
 * N.error.FUNCTION holds the code that a function answers for this GPU. A word that is missing answers 3, "not
 * supported"; so do functions of GPUs that the file does not give a value. Built for the tests; no code of NVIDIA's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FILE_PATH
#define FILE_PATH "/etc/nvml-stand-in"
#endif
#define SUPPORTED 0
#define INVALID_ARGUMENT 2
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define INSUFFICIENT_SIZE 7
#define GPUS 64
#define MIGS 8

typedef struct { int gpu, mig; } Device;
typedef unsigned long long u64;
static Device devices[GPUS][MIGS + 1];
static char *text;

static int load(void) {
  if (text) return 1;
  FILE *file = fopen(FILE_PATH, "rb");
  if (!file) return 0;
  text = calloc(1, 1 << 20);
  size_t got = text ? fread(text, 1, (1 << 20) - 1, file) : 0;
  fclose(file);
  for (int g = 0; g < GPUS; g++)
    for (int m = 0; m <= MIGS; m++) devices[g][m] = (Device){g, m - 1};
  return got > 0;
}

/* The value of a key into `out`; 0 where the file has none. */
static int look(const char *key, char *out, size_t size) {
  size_t length = strlen(key);
  if (!load()) return 0;
  for (char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : 0)
    if (!strncmp(line, key, length) && line[length] == ' ') {
      size_t end = strcspn(line + length + 1, "\n");
      if (end >= size) end = size - 1;
      memcpy(out, line + length + 1, end);
      out[end] = 0;
      return 1;
    }
  return 0;
}

static u64 whole(const char *key, u64 otherwise) {
  char value[64];
  return look(key, value, sizeof value) ? strtoull(value, 0, 10) : otherwise;
}

static int word(void *device, const char *function, const char *name, char *out, size_t size) {
  Device *d = device;
  char key[160];
  if (!d) return INVALID_ARGUMENT;
  snprintf(key, sizeof key, "%d.error.%s", d->gpu, function);
  int code = (int)whole(key, 0);
  if (code) return code;
  if (d->mig < 0) snprintf(key, sizeof key, "%d.%s", d->gpu, name);
  else snprintf(key, sizeof key, "%d.m%d.%s", d->gpu, d->mig, name);
  return look(key, out, size) ? 0 : NOT_SUPPORTED;
}

static int number(void *device, const char *function, const char *name, u64 *out) {
  char value[64];
  int code = word(device, function, name, value, sizeof value);
  if (!code) *out = strtoull(value, 0, 10);
  return code;
}

#define TEXT(function, name) \
  int function(void *d, char *out, unsigned size) { return word(d, #function, name, out, size); }
#define NUMBER(function, name) \
  int function(void *d, unsigned *out) { u64 v; int c = number(d, #function, name, &v); \
    if (!c) { *out = (unsigned)v; } \
    return c; }
#define PAIR(function, one, two) \
  int function(void *d, unsigned *a, unsigned *b) { u64 v, w; int c = number(d, #function, one, &v); \
    if (!c) { c = number(d, #function, two, &w); } \
    if (!c) { *a = (unsigned)v; *b = (unsigned)w; } \
    return c; }
#define BY(function, names) \
  int function(void *d, unsigned kind, unsigned *out) { static const char *n[] = names; u64 v; \
    if (kind >= sizeof n / sizeof *n) return INVALID_ARGUMENT; \
    int c = number(d, #function, n[kind], &v); if (!c) { *out = (unsigned)v; } \
    return c; }
#define LIST(...) {__VA_ARGS__}

static int start(void) { return load() ? (int)whole("init", 0) : 999; }
int nvmlInit_v2(void) { return start(); }
int nvmlInitWithFlags(unsigned flags) { (void)flags; return start(); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { (void)code; return "an error of the stand-in"; }

static int of_library(const char *key, char *out, unsigned size) { return look(key, out, size) ? 0 : NOT_SUPPORTED; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { return of_library("driver", out, size); }
int nvmlSystemGetNVMLVersion(char *out, unsigned size) { return of_library("nvml", out, size); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = (int)whole("cuda", 0); return *out ? 0 : NOT_SUPPORTED; }
int nvmlSystemGetCudaDriverVersion(int *out) { return nvmlSystemGetCudaDriverVersion_v2(out); }

int nvmlDeviceGetCount_v2(unsigned *out) { *out = (unsigned)whole("count", 0); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
  char key[64];
  if (index >= whole("count", 0) || index >= GPUS) return INVALID_ARGUMENT;
  snprintf(key, sizeof key, "%u.error.nvmlDeviceGetHandleByIndex_v2", index);
  *out = &devices[index][0];
  return (int)whole(key, 0);
}

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
NUMBER(nvmlDeviceGetMinorNumber, "minor")
NUMBER(nvmlDeviceGetBrand, "brand")
NUMBER(nvmlDeviceGetArchitecture, "architecture")
PAIR(nvmlDeviceGetCudaComputeCapability, "cc_major", "cc_minor")
PAIR(nvmlDeviceGetEccMode, "ecc", "ecc_pending")
PAIR(nvmlDeviceGetMigMode, "mig", "mig_pending")
NUMBER(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER(nvmlDeviceGetVirtualizationMode, "virtualization")
NUMBER(nvmlDeviceGetPowerUsage, "power")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "power_limit_default")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_gen")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_gen_max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie_width_max")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retired_pending")
NUMBER(nvmlDeviceGetMaxMigDeviceCount, "mig_count")
NUMBER(nvmlDeviceGetGpuInstanceId, "gpu_instance")
NUMBER(nvmlDeviceGetComputeInstanceId, "compute_instance")
BY(nvmlDeviceGetTemperature, LIST("temperature"))
BY(nvmlDeviceGetClockInfo, LIST("graphics_clock", "sm_clock"))
BY(nvmlDeviceGetMaxClockInfo, LIST("graphics_clock_max", "sm_clock_max"))

int nvmlDeviceGetUtilizationRates(void *d, unsigned *gpu_memory) {
  u64 value;
  int code = number(d, __func__, "busy", &value);
  if (!code) gpu_memory[0] = gpu_memory[1] = (unsigned)value;
  return code;
}
int nvmlDeviceGetCurrentClocksEventReasons(void *d, u64 *out) { return number(d, __func__, "clock_reasons", out); }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, u64 *out) { return number(d, __func__, "clock_reasons", out); }

int nvmlDeviceGetTotalEccErrors(void *d, unsigned error, unsigned counter, u64 *out) {
  static const char *names[] = {"corrected", "corrected_lifetime", "uncorrected", "uncorrected_lifetime"};
  return error > 1 || counter > 1 ? INVALID_ARGUMENT : number(d, __func__, names[2 * error + counter], out);
}

int nvmlDeviceGetRemappedRows(void *d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
  static const char *names[] = {"rows_corrected", "rows_uncorrected", "rows_pending", "rows_failed"};
  unsigned *out[] = {corrected, uncorrected, pending, failed};
  for (int i = 0; i < 4; i++) {
    u64 value;
    int code = number(d, __func__, names[i], &value);
    if (code) return code;
    *out[i] = (unsigned)value;
  }
  return 0;
}

/* Asked twice: for the number of pages, then for them. */
int nvmlDeviceGetRetiredPages(void *d, unsigned cause, unsigned *count, u64 *addresses) {
  u64 value;
  int code = number(d, __func__, cause ? "retired_double" : "retired_single", &value);
  if (code) return code;
  unsigned room = *count;
  *count = (unsigned)value;
  if (!addresses || room < value) return value ? INSUFFICIENT_SIZE : 0;
  for (unsigned i = 0; i < value; i++) addresses[i] = 0x1000ull * (i + 1);
  return 0;
}

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char address[32]; } Pci;
static int pci_of(void *d, const char *function, const char *name, Pci *out) {
  char value[64];
  unsigned domain, bus, device;
  int code = word(d, function, name, value, sizeof value);
  if (code) return code;
  if (sscanf(value, "%x:%x:%x", &domain, &bus, &device) != 3) return NOT_FOUND;
  memset(out, 0, sizeof *out);
  out->domain = domain, out->bus = bus, out->device = device;
  snprintf(out->address, sizeof out->address, "%08X:%02X:%02X.0", domain, bus, device);
  snprintf(out->legacy, sizeof out->legacy, "%04X:%02X:%02X.0", domain & 0xffff, bus, device);
  if (!word(d, function, "pci_id", value, sizeof value)) out->id = (unsigned)strtoul(value, 0, 16);
  if (!word(d, function, "subsystem_id", value, sizeof value)) out->subsystem = (unsigned)strtoul(value, 0, 16);
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void *d, Pci *out) { return pci_of(d, __func__, "pci", out); }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned link, Pci *out) {
  char name[32];
  snprintf(name, sizeof name, "link%u_peer", link);
  return pci_of(d, __func__, name, out);
}
int nvmlDeviceGetNvLinkState(void *d, unsigned link, unsigned *out) {
  char name[32];
  u64 value;
  snprintf(name, sizeof name, "link%u", link);
  int code = number(d, __func__, name, &value);
  if (!code) *out = (unsigned)value;
  return code;
}

int nvmlDeviceGetMemoryInfo(void *d, u64 *total_free_used) {
  u64 total, used;
  int code = number(d, __func__, "memory", &total);
  if (!code) code = number(d, __func__, "memory_used", &used);
  if (!code) total_free_used[0] = total, total_free_used[1] = total - used, total_free_used[2] = used;
  return code;
}
int nvmlDeviceGetBAR1MemoryInfo(void *d, u64 *total_free_used) {
  int code = number(d, __func__, "bar1", &total_free_used[0]);
  if (!code) total_free_used[1] = total_free_used[0], total_free_used[2] = 0;
  return code;
}

static int running(void *d, const char *function, unsigned *count, void *rows) {
  u64 value;
  int code = number(d, function, "processes", &value);
  if (code) return code;
  unsigned room = *count;
  *count = (unsigned)value;
  if (room < value || (value && !rows)) return INSUFFICIENT_SIZE;
  if (value) memset(rows, 0, 24 * value);
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, void *rows) {
  return running(d, __func__, count, rows);
}
int nvmlDeviceGetComputeRunningProcesses_v2(void *d, unsigned *count, void *rows) {
  return running(d, __func__, count, rows);
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned index, void **out) {
  Device *gpu = d;
  char value[64];
  if (index >= MIGS) return INVALID_ARGUMENT;
  *out = &devices[gpu->gpu][index + 1];
  return word(*out, __func__, "uuid", value, sizeof value) ? NOT_FOUND : 0;
}

typedef struct { unsigned version; unsigned char cluster[16]; int status; unsigned clique; unsigned char state; } Fabric;
int nvmlDeviceGetGpuFabricInfoV(void *d, Fabric *out) {
  u64 state, status;
  int code = number(d, __func__, "fabric_state", &state);
  if (!code) code = number(d, __func__, "fabric_status", &status);
  if (!code) out->state = (unsigned char)state, out->status = (int)status, out->clique = 0;
  return code;
}
