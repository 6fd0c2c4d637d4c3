package local

import "time"

const (
	// The quotas of a shard (AWS, "Quotas and limits" of Kinesis Data Streams).
	readBytesPerSecond  = 2 << 20
	writeBytesPerSecond = 1 << 20
	writesPerSecond     = 1000
	callsPerSecond      = 5
)

// callQuota allows five calls in any second.
type callQuota struct {
	calls [callsPerSecond]time.Time // a ring of the last ones
	next  int
}

func (q *callQuota) allows(now time.Time) bool {
	oldest := q.calls[q.next]
	return oldest.IsZero() || now.Sub(oldest) >= time.Second
}

func (q *callQuota) take(now time.Time) {
	q.calls[q.next] = now
	q.next = (q.next + 1) % len(q.calls)
}

// readQuota limits GetRecords: five calls and 2 MiB a second. An answer may be
// larger than that; then the shard is in debt, and refuses until its quota has
// made up for all of it: five seconds after a 10 MiB answer (GetRecords' API
// page).
type readQuota struct {
	callQuota
	paid   time.Time // when the quota has made up for what was read
	inDebt bool
}

func (q *readQuota) allows(now time.Time) bool {
	backlog := q.paid.Sub(now)
	if backlog > 0 && (q.inDebt || backlog >= time.Second) {
		return false
	}
	return q.callQuota.allows(now)
}

func (q *readQuota) take(now time.Time, bytes int) {
	q.callQuota.take(now)
	if q.paid.Before(now) {
		q.paid = now
	}
	q.paid = q.paid.Add(time.Duration(bytes) * time.Second / readBytesPerSecond)
	q.inDebt = q.paid.Sub(now) > time.Second
}

// writeQuota limits puts: 1,000 records and 1 MiB a second, a second's worth of
// which can be saved up.
type writeQuota struct {
	bytes, records float64 // what is left
	filled         time.Time
}

// take uses the quota for one record, if it allows it.
func (q *writeQuota) take(now time.Time, bytes int) bool {
	passed := 1.0 // a shard begins with a full quota
	if !q.filled.IsZero() {
		passed = now.Sub(q.filled).Seconds()
	}
	q.filled = now
	q.bytes = min(writeBytesPerSecond, q.bytes+passed*writeBytesPerSecond)
	q.records = min(writesPerSecond, q.records+passed*writesPerSecond)
	// A record larger than a second's quota needs a full one and leaves a debt:
	// large records are for bursts, the average stays (AWS, "Large records").
	if q.records < 1 || q.bytes < min(float64(bytes), writeBytesPerSecond) {
		return false
	}
	q.bytes -= float64(bytes)
	q.records--
	return true
}

// rateExceeded is what a call over a shard's quota gets.
func (s *Server) rateExceeded(h *shard) error {
	return throttled("%s", s.rateExceededMessage(h))
}

func (s *Server) rateExceededMessage(h *shard) string {
	return "Rate exceeded for shard " + h.id + " in stream " + h.stream.name +
		" under account " + s.config.Account + "."
}
