package httpapi

import (
	"net/http"
	"strings"

	"galley/internal/cms"
)

// authenticate finds out who sent a request, and whether they sent too many.
func (a *API) authenticate(h http.Header, r *request) error {
	key, err := credential(r)
	if err != nil {
		return a.refuseUnauthenticated(h, r, err)
	}
	r.version = a.svc.Version()
	r.who, err = a.svc.Authenticate(r.Context(), key)
	switch {
	case cms.CodeOf(err) == cms.CodeUnauthorized:
		return a.refuseUnauthenticated(h, r, err)
	case err != nil:
		return err
	}
	r.credential = key
	if r.who.App != nil {
		withdrawOrigin(h)
	}
	return a.limits.admitCredential(h, r)
}

// knows tells whether a request's key can be checked without the store.
func (a *API) knows(r *request) bool {
	key, err := credential(r)
	if err != nil {
		return true
	}
	_, known := a.svc.Recognize(key)
	return known
}

// refuseStranger counts a request that nobody's key came with.
func (a *API) refuseUnauthenticated(h http.Header, r *request, reason error) error {
	if tooMany := a.limits.admitUnauthenticated(h, r, a.proxies.client(r.Request)); tooMany != nil {
		return tooMany
	}
	return reason
}

func hasCredential(r *request) bool {
	return len(r.Header.Values("x-api-key")) > 0 || len(r.Header.Values("authorization")) > 0
}

// credential takes the key from the one header that has it.
func credential(r *request) (string, error) {
	keys, bearers := r.Header.Values("x-api-key"), r.Header.Values("authorization")
	if len(keys) > 0 && len(bearers) > 0 {
		return "", cms.BadField("authorization", "must not be sent beside x-api-key")
	}
	switch {
	case len(keys) == 1:
		return keys[0], nil
	case len(bearers) == 1:
		scheme, token, _ := strings.Cut(bearers[0], " ")
		if strings.EqualFold(scheme, "bearer") {
			return token, nil
		}
	}
	return "", cms.ErrUnauthorized
}
