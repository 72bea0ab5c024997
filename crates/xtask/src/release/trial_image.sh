# Runs a container's command on the files of the image alone, and asks the service that it starts.
millstream() {
    env -i PATH=/usr/sbin:/usr/bin chroot "$clean" /usr/bin/millstream "$@"
}
millstream check
# The argument is a list of words, the user before the command.
user=${argument%% *} command=${argument#* }
env -i PATH=/usr/sbin:/usr/bin chroot --userspec "$user" "$clean" $command &
for _ in $(seq 300); do
    ! millstream status >/dev/null 2>&1 || break
    sleep 0.1
done
millstream status
