package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// Durations makes flags of type time.Duration accept days, such as 30d or 1d12h.
var Durations = kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := ParseDuration(text)
	target.SetInt(int64(d))
	return err
}))

var inDays = regexp.MustCompile(`^([+-]?)(\d+)d(.*)$`)

// maxDays is the number of days that a time.Duration can hold.
const maxDays = 106_751

// ParseDuration is time.ParseDuration with an optional number of days at the start.
func ParseDuration(s string) (time.Duration, error) {
	sign, days, rest := "", 0, s
	if m := inDays.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[2])
		if err != nil || n >= maxDays {
			return 0, fmt.Errorf("%q is too long", s)
		}
		sign, days, rest = m[1], n, m[3]
		if rest == "" {
			rest = "0"
		}
	}
	d, err := time.ParseDuration(sign + rest)
	if err != nil || rest != s && d >= 24*time.Hour || rest != s && rest[0] == '-' {
		return 0, fmt.Errorf("%q is not a duration: write 90s, 30m, 12h or 30d", s)
	}
	if sign == "-" {
		days = -days
	}
	return time.Duration(days)*24*time.Hour + d, nil
}
