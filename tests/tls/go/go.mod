module tlsclient

go 1.24
