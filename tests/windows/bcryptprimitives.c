/* wine 8 has no bcryptprimitives.dll, from which Rust's std takes its randomness. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length)
{
	return SystemFunction036(bytes, (ULONG)length);
}
