package local

import "time"

// The bounds of a stream's retention period in hours (API pages of
// IncreaseStreamRetentionPeriod and DecreaseStreamRetentionPeriod).
const (
	leastRetention = 24
	mostRetention  = 8760
)

type retentionRequest struct {
	target
	RetentionPeriodHours *int32
}

func (s *Server) increaseRetention(r *retentionRequest) (*none, error) {
	return s.setRetention(r, func(old, hours time.Duration) error {
		if hours < old {
			return r.refusal("shorter", old, "DecreaseRetentionPeriod")
		}
		return nil
	})
}

func (s *Server) decreaseRetention(r *retentionRequest) (*none, error) {
	return s.setRetention(r, func(old, hours time.Duration) error {
		if hours > old {
			return r.refusal("longer", old, "IncreaseRetentionPeriod")
		}
		return nil
	})
}

// refusal is the answer to a change in the wrong direction.
func (r *retentionRequest) refusal(how string, old time.Duration, other string) error {
	return invalidArgument("Requested retention period (%d hours) for stream %s can not be %s than existing retention period (%d hours). Use %s API.",
		*r.RetentionPeriodHours, r.name(), how, int(old.Hours()), other)
}

// setRetention changes the retention if allowed says so. The same value again is
// no error, though the API pages want more or less: Terraform relies on it (floci
// issue 342).
func (s *Server) setRetention(r *retentionRequest, allowed func(old, hours time.Duration) error) (*none, error) {
	var v violations
	r.check(&v)
	v.want(r.RetentionPeriodHours != nil, nil, "retentionPeriodHours", "Member must not be null")
	if err := v.err(); err != nil {
		return nil, err
	}
	m, err := s.find(r.target, s.now())
	if err != nil {
		return nil, err
	}
	hours := *r.RetentionPeriodHours
	switch {
	case hours < leastRetention:
		return nil, invalidArgument("Minimum allowed retention period is %d hours. Requested retention period (%d hours) is too short.",
			leastRetention, hours)
	case hours > mostRetention:
		return nil, invalidArgument("Maximum allowed retention period is %d hours. Requested retention period (%d hours) is too long.",
			mostRetention, hours)
	}
	if m.status != active {
		return nil, s.notActive(m)
	}
	retention := time.Duration(hours) * time.Hour
	if err := allowed(m.retention, retention); err != nil {
		return nil, err
	}
	if retention == m.retention {
		return &none{}, nil
	}
	s.startChange(m, func(at time.Time) {
		// What has expired does not come back (IncreaseStreamRetentionPeriod's API
		// page).
		m.floor = m.horizon(at)
		m.retention = retention
	})
	return &none{}, nil
}

// retentionHours is the retention as the API tells it.
func (m *stream) retentionHours() int { return int(m.retention.Hours()) }

// horizon is the time of the oldest records that can be read: the retention
// back, but nothing that had expired before the retention grew, nor anything
// before the stream's creation.
func (m *stream) horizon(now time.Time) time.Time {
	horizon := now.Add(-m.retention)
	if horizon.Before(m.floor) {
		return m.floor
	}
	return horizon
}
