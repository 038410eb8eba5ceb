package outgoing

// Control is the check of addresses by itself, for addresses to which tests must not
// connect.
var Control = control
