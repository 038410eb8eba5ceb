package console

import "net/http"

func showPages(v *visit) error {
	return v.show(http.StatusOK, navPages, pagesScreen(v))
}
