package fetch

import (
	"fmt"
	"sync"
	"time"
)

// status is what a reader is doing, for people. Next writes it, anybody reads it.
type status struct {
	mu      sync.Mutex
	doing   string
	until   time.Time     // of a pause; zero: none
	behind  time.Duration // after the last answer
	failing time.Time     // when calls began to fail; zero: they succeed
}

func (s *status) set(doing string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing, s.until = doing, until
}

// failed and succeeded keep the time since which nothing works.
func (s *status) failed(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing.IsZero() {
		s.failing = now
	}
}

func (s *status) succeeded(behind time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing, s.behind = time.Time{}, behind
}

func (s *status) stalled(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing.IsZero() {
		return 0
	}
	return now.Sub(s.failing)
}

func (s *status) text(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.doing
	if s.behind > 0 {
		text += fmt.Sprintf(", %v behind the newest record", s.behind.Round(time.Millisecond))
	}
	if left := s.until.Sub(now); left > 0 {
		text += fmt.Sprintf(", next try in %v", left.Round(10*time.Millisecond))
	}
	return text
}
