//! Like known.c, with Rust's global allocator: the same protocol, and the truth as tests/prog/truth.h prints it.
use std::alloc::{alloc, dealloc, Layout};
use std::fs::File;
use std::io::{Cursor, Read, Write};
use std::mem::{forget, ManuallyDrop};
use std::os::unix::io::FromRawFd;
use std::rc::Rc;

const KEPT: usize = 512;
const STANDING: usize = 54321;

#[derive(Clone, Copy)]
struct Site {
    name: &'static str,
    allocs: u64,
    bytes: u64,
    reallocs: u64,
    realloc_bytes: u64,
    frees: u64,
    live: u64,
    live_bytes: u64,
}

const NONE: Site = Site { name: "", allocs: 0, bytes: 0, reallocs: 0, realloc_bytes: 0, frees: 0, live: 0, live_bytes: 0 };
static mut SITES: [Site; 16] = [NONE; 16];

fn site(name: &'static str) -> &'static mut Site {
    let sites = unsafe { &mut *std::ptr::addr_of_mut!(SITES) };
    let at = sites.iter().position(|s| s.name == name || s.name.is_empty()).unwrap();
    sites[at].name = name;
    &mut sites[at]
}

#[derive(Clone, Copy)]
struct Block {
    at: *mut u8,
    layout: Layout,
    from: &'static str,
}

/// Keeps the compiler from removing the allocation.
fn seen(at: *mut u8) {
    static mut SEEN: *mut u8 = std::ptr::null_mut();
    unsafe { std::ptr::write_volatile(std::ptr::addr_of_mut!(SEEN), at) };
}

fn told(from: &'static str, at: *mut u8, size: usize, align: usize) -> Block {
    seen(at);
    let s = site(from);
    s.live += 1;
    s.live_bytes += size as u64;
    Block { at, layout: Layout::from_size_align(size, align).unwrap(), from }
}

fn allocated(from: &'static str, at: *mut u8, size: usize, align: usize) -> Block {
    let s = site(from);
    s.allocs += 1;
    s.bytes += size as u64;
    told(from, at, size, align)
}

#[inline(never)]
fn site_box() -> Block {
    allocated("site_box", Box::into_raw(Box::new([1u8; 900])) as *mut u8, 900, 1)
}

#[inline(never)]
fn site_vec(n: usize) -> Block {
    let mut v = Vec::<u8>::with_capacity(n);
    let at = v.as_mut_ptr();
    forget(v);
    allocated("site_vec", at, n, 1)
}

#[inline(never)]
fn site_zeroed(n: usize) -> Block {
    let mut v = vec![0u8; n];
    let at = v.as_mut_ptr();
    forget(v);
    allocated("site_zeroed", at, n, 1)
}

#[inline(never)]
fn site_grown(n: usize) -> Block {
    let mut v = Vec::<u8>::with_capacity(500);
    // An empty vector would be freed and allocated anew instead of reallocated.
    v.push(1);
    let before = allocated("site_grown", v.as_mut_ptr(), 500, 1);
    v.reserve_exact(n - 1);
    let s = site(before.from);
    s.live -= 1;
    s.live_bytes -= 500;
    s.reallocs += 1;
    s.realloc_bytes += n as u64;
    let at = v.as_mut_ptr();
    forget(v);
    told("site_grown", at, n, 1)
}

#[inline(never)]
fn site_aligned(n: usize) -> Block {
    let at = unsafe { alloc(Layout::from_size_align(n, 128).unwrap()) };
    allocated("site_aligned", at, n, 128)
}

#[inline(never)]
fn site_counted() -> Block {
    // Rc puts two counts in front of the value.
    allocated("site_counted", Rc::into_raw(Rc::new([1u64; 100])) as *mut u8, 816, 8)
}

#[inline(never)]
fn site_string(n: usize) -> Block {
    let mut s = String::with_capacity(n);
    let at = s.as_mut_ptr();
    forget(s);
    allocated("site_string", at, n, 1)
}

#[inline(never)]
fn site_kept(n: usize) -> Block {
    let mut v = Vec::<u8>::with_capacity(n);
    let at = v.as_mut_ptr();
    forget(v);
    allocated("site_kept", at, n, 1)
}

#[inline(never)]
fn site_drop(b: Block) {
    site("site_drop").frees += 1;
    let s = site(b.from);
    s.live -= 1;
    s.live_bytes -= b.layout.size() as u64;
    let start = if b.from == "site_counted" { unsafe { b.at.sub(16) } } else { b.at };
    unsafe { dealloc(start, b.layout) };
    seen(b.at); // not a jump, or this frame is gone
}

fn round_of(i: usize) {
    site_drop(site_box());
    site_drop(site_vec(900 + i % 97));
    site_drop(site_zeroed(950 + i % 31));
    site_drop(site_grown(1900 + i % 500));
    site_drop(site_aligned(1280));
    site_drop(site_counted());
    site_drop(site_string(800 + i % 17));
}

/// Unbuffered, because a buffer of the library would be allocated.
fn descriptor(n: i32) -> ManuallyDrop<File> {
    ManuallyDrop::new(unsafe { File::from_raw_fd(n) })
}

fn say(text: &[u8]) {
    descriptor(1).write_all(text).unwrap();
}

fn wait() -> bool {
    descriptor(0).read(&mut [0u8]).unwrap() > 0
}

fn waits() -> bool {
    std::env::var_os("ALYS_NO_WAIT").is_none()
}

#[inline(never)]
fn site_standing() -> Block {
    let mut v = Vec::<u8>::with_capacity(STANDING);
    let at = v.as_mut_ptr();
    forget(v);
    allocated("site_standing", at, STANDING, 1)
}

#[inline(always)]
fn stand_inner() {
    site_standing();
    say(b"standing\n");
    wait();
}

#[inline(always)]
fn stand_outer() {
    stand_inner();
}

#[inline(never)]
fn stand_deep(depth: usize) -> u64 {
    if depth > 0 {
        return stand_deep(depth - 1) + depth as u64;
    }
    let mut numbers = [4, 3, 2, 1];
    let mut stood = false;
    numbers.sort_by(|a, b| {
        if !stood {
            stand_outer();
            stood = true;
        }
        a.cmp(b)
    });
    numbers[0]
}

fn print_truth() {
    let mut line = [0u8; 8192];
    let mut to = Cursor::new(&mut line[..]);
    write!(to, "{{\"pid\":{},\"sites\":{{", std::process::id()).unwrap();
    for (i, s) in unsafe { &*std::ptr::addr_of!(SITES) }.iter().take_while(|s| !s.name.is_empty()).enumerate() {
        write!(to, "{}\"{}\":{{\"allocs\":{},\"bytes\":{},\"reallocs\":{},\"realloc_bytes\":{},\"frees\":{},\"live\":{},\"live_bytes\":{}}}",
               if i > 0 { "," } else { "" }, s.name, s.allocs, s.bytes, s.reallocs, s.realloc_bytes, s.frees, s.live,
               s.live_bytes).unwrap();
    }
    writeln!(to, "}}}}").unwrap();
    let n = to.position() as usize;
    say(&line[..n]);
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let rounds = words.get(1).map_or(1000, |w| w.parse().unwrap());
    let mut kept: Vec<Option<Block>> = vec![None; KEPT];
    let waits = waits();

    if waits {
        say(b"ready\n");
        wait();
    }
    for i in 0..rounds {
        if let Some(old) = kept[i % KEPT] {
            site_drop(old);
        }
        kept[i % KEPT] = Some(site_kept(1000 + i % 300));
        round_of(i);
    }
    if words.len() > 2 {
        stand_deep(3);
    }
    print_truth();
    while waits && wait() {}
}
// SPDX-License-Identifier: Apache-2.0
