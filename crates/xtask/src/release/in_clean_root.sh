# Mounts a system that forgets all changes, with a folder of the host at /from; what follows uses it as $clean.
# Arguments: the system, a folder to work in, the folder at /from, and one for what follows. The caller has unshared mounts.
system=$1 work=$2 from=$3 argument=$4
mount -t tmpfs tmpfs "$work"
clean=$work/root
mkdir "$work/upper" "$work/work" "$clean"
mount -t overlay overlay -o "lowerdir=$system,upperdir=$work/upper,workdir=$work/work" "$clean"
mount -t proc proc "$clean/proc"
for device in null zero full random urandom; do
    [ -e "$clean/dev/$device" ] || touch "$clean/dev/$device"
    mount --bind "/dev/$device" "$clean/dev/$device"
done
mkdir "$clean/from"
mount --bind -o ro "$from" "$clean/from"
