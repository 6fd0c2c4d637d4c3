// Package file is a lease.Store in a folder: for the workers of one machine, in any number of
// processes, without a server. What it keeps is text that a person can read, and follow with tail -f.
//
//	leat.Config{Store: file.New("/var/lib/billing")}
//
// # The log
//
// A store is a log, a file log-<number>.jsonl of JSON lines. A line is an attempt to write one item:
//
//	{"sum":"...","group":"billing","key":"worker/anna","was":"k3-7","now":"k3-8","item":{"heartbeat":{"N":"8"},...}}
//
// It takes effect if the item stands at version "was" when the line's turn comes; then the item is as
// the line says, at version "now". Without "was" it creates the item, without "item" it deletes it.
// Every process reads the same lines in the same order, so all agree on which of two attempts won.
// The compare-and-swap is the order of the lines; it needs no lock.
//
// A write reads the log to its end, checks its condition, appends its line with one write(2), and reads on to
// that line to learn its fate. Appending to a file (O_APPEND) is atomic on the file systems of one
// machine; network file systems do not promise it and are not supported.
//
// A version is written once in the life of the store: it is made of a random name of the writing Store and a
// count. So there is no ABA problem: a line that was prepared before any number of other writes, a
// deletion and a new creation among them, names a version that is gone, and is void.
//
// # Processes that are stopped or killed
//
//   - Before its append a process has done nothing. After it, its line stands or is void, and
//     everybody sees which. There is no third state in which others wait, or tidy up after it.
//   - Killed inside write(2), it may leave the beginning of a line. A line begins with a line break, so
//     the next one does not run into it; it is known as unfinished by its length, and void.
//   - Stopped for an hour between reading and appending, it appends a line that is void, reads on,
//     and tries again or reports the conflict.
//
// # The next log
//
// At 4 MiB (or 8 times what the log began with) a log is ended by a line that says so. Lines after
// that one are void; their writers, however late, find the end before their line and move on. What the
// log adds up to at its end is the beginning of the next log: written to a temporary file, then linked to the
// next number. Every process would write the same, so it does not matter whose link wins.
//
// The log before the last one is kept for people. Older ones give way, by rename, to an empty file of
// the same name. No name of a log ever disappears, and that carries two proofs:
//
//	A stopped process cannot bring an old log back:
//	    A: prepares log 5 and is stopped before link(2)
//	    B: links log 5; it fills, ends; ...; log 5 becomes empty; log 9 is the newest
//	    A: link(2) fails with EEXIST, as it always will
//	A stopped process cannot take an old log for the newest:
//	    A: lists the folder: 5 is the highest; is stopped before open(2)
//	    B: ends log 5, ...; log 5 becomes empty; log 9 is the newest
//	    A: opens log 5. Either it is the file with the end in it (A goes on to 6), or it is empty (A lists again).
//	       A listing shows every log that was there when it began, because none goes away meanwhile.
//
// A process that holds log 5 open still reads its end there, and its late lines go to a file without a
// name. 4 MiB hold some 15,000 writes; an empty log costs an inode and no block. Empty logs may be
// removed while no program uses the folder.
//
// # Damage
//
// A line that is neither whole nor the beginning of one is damage, as is a log that gets shorter or
// an unknown format version: every call fails and says where, and nothing is written. What cannot be
// told from a killed writer, a last line cut short, counts as not written. An item whose attributes
// make no sense is an error of that item alone.
package file
