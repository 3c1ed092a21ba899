// A Go program as its authors profile it: what the daemon's profiles are compared with.
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"runtime"
	"time"
)

var kept [][]byte

func main() {
	runtime.MemProfileRate = 512
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	go http.Serve(listener, nil)
	for {
		kept = append(kept, make([]byte, 4096))
		// What is in use shows after a collection.
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
}
// SPDX-License-Identifier: Apache-2.0
