package dispatch

import "context"

// Budget bounds the bytes that a process's unhandled records pin, over all its shards.
type Budget struct{ max int64 }

// NewBudget returns a budget of max bytes.
func NewBudget(max int64) *Budget { return &Budget{max: max} }

// Max, Used and Peak are the bound, the bytes taken now and the most that ever were.
func (b *Budget) Max() int64  { return b.max }
func (b *Budget) Used() int64 { panic("skeleton") }
func (b *Budget) Peak() int64 { panic("skeleton") }

// Shard opens a shard's share. The budget calls drop, with no lock held and from any goroutine, when it is short and
// the shard holds the most above its fair share: drop forgets undelivered records from the shard's tail,
// at least want bytes of them if there are as many, rewinds the reader to before them, and returns the bytes
// it freed. The budget books those itself: drop must not Give them, nor call Take.
func (b *Budget) Shard(drop func(want int64) (freed int64)) *Share { panic("skeleton") }

// Share is one shard's part of a Budget. It has the methods of fetch.Credit.
type Share struct{}

// Take blocks until n bytes are the shard's. It returns ctx's cause once ctx is done, ErrShareClosed once the share is.
func (s *Share) Take(ctx context.Context, n int64) error { panic("skeleton") }

// Give gives n bytes back. On a closed share it does nothing.
func (s *Share) Give(n int64) { panic("skeleton") }

// Room is a hint of how many bytes the shard can take without waiting; at least its fair share.
func (s *Share) Room() int64 { panic("skeleton") }

// Held is what the shard holds now, in bytes.
func (s *Share) Held() int64 { panic("skeleton") }

// Close gives everything back and ends waiting Takes.
func (s *Share) Close() { panic("skeleton") }
