// A heap whose edges are known, for tests of the object graph: prints "NAME ADDRESS" lines, then "ready". Built by test_malloc_graph.py.
// SPDX-License-Identifier: Apache-2.0
//
//   REGISTRY (static) -> Owner (0: leaf, 8: text, 16: the block of shared, whose value lies behind two counters)
use std::io::Read;
use std::rc::Rc;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

#[repr(C)]
struct Owner {
    leaf: Box<[u64; 12]>,
    text: *const u8,
    shared: Rc<[u64; 30]>,
}

static REGISTRY: AtomicPtr<Owner> = AtomicPtr::new(std::ptr::null_mut());

fn say<T>(name: &str, at: *const T) {
    println!("{} {:p}", name, at);
}

fn main() {
    let text = "x".repeat(300).into_boxed_str();
    let owner = Box::new(Owner { leaf: Box::new([0; 12]), text: Box::leak(text).as_ptr(), shared: Rc::new([0; 30]) });
    say("leaf", &*owner.leaf);
    say("text", owner.text);
    say("shared", &*owner.shared);
    say("owner", &*owner);
    REGISTRY.store(Box::into_raw(owner), Relaxed);
    println!("ready");
    std::io::stdin().read(&mut [0; 1]).unwrap();
    say("owner", REGISTRY.load(Relaxed)); // or the compiler would leave it out
}
