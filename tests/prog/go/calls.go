// SPDX-License-Identifier: Apache-2.0
// Goroutines that call C, which allocates, also through Go functions that C calls back; follows the protocol of truth.h.
package main

/*
#include <stdlib.h>

extern void goBack(int times, int left);

static __attribute__((noinline)) void site_plain(int times)
{
	for (int i = 0; i < times; i++) {
		void *volatile block = malloc(100);
		free(block);
	}
}

static __attribute__((noinline)) void site_back(int times, int left)
{
	goBack(times, left);
	site_plain(1);
}
*/
import "C"

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
)

const times = 200

//go:noinline
func plain() {
	C.site_plain(times)
}

//export goBack
func goBack(times, left C.int) {
	if left == 0 {
		C.site_plain(times)
	} else {
		deep(times, left)
	}
}

//go:noinline
func deep(times, left C.int) byte {
	var room [8192]byte
	goBack(times, left-1)
	return room[left]
}

//go:noinline
func back() {
	C.site_back(times, 0)
}

// Takes so much of the goroutine's stack that it moves while C is called.
//
//go:noinline
func moved() {
	C.site_back(times, 30)
}

// Has a stack that is large enough for what follows, but not for moved.
func in_goroutine(call func(), done chan bool) {
	var room [65536]byte
	call()
	done <- room[0] == 0
}

func main() {
	in, done := bufio.NewReader(os.Stdin), make(chan bool)
	fmt.Println("ready")
	in.ReadByte()
	for _, call := range []func(){plain, back, moved} {
		go in_goroutine(call, done)
		<-done
	}
	fmt.Printf("{\"times\": %d, \"version\": \"%s\"}\n", times, runtime.Version())
	io.Copy(io.Discard, in)
}
