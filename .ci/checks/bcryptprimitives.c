// Wine 8, which Debian 12 has, lacks the library from which Rust's programs take their random numbers on Windows.
// This one hands the call on to the library that has had them before. Used by `ci/full` to run under wine, and
// never shipped.

int __stdcall SystemFunction036(void *buffer, unsigned long length);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, unsigned long long length) {
    return SystemFunction036(buffer, (unsigned long) length);
}
