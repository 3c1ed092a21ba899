// Blocks of the C allocator, allocated and freed by goroutines on several threads.
package main

/*
#include <stdlib.h>
#include <string.h>

static void *filled(size_t n)
{
	char *p = malloc(n);
	memset(p, 1, n);
	return realloc(p, n + 100);
}
*/
import "C"

import (
	"sync"
	"unsafe"
)

func work(done *sync.WaitGroup) {
	for i := 0; i < 2000; i++ {
		text := C.CString("a string of Go's that C shall own")
		C.free(C.filled(C.size_t(100 + i%900)))
		C.free(unsafe.Pointer(text))
	}
	done.Done()
}

func main() {
	var done sync.WaitGroup
	for i := 0; i < 4; i++ {
		done.Add(1)
		go work(&done)
	}
	done.Wait()
}
// SPDX-License-Identifier: Apache-2.0
