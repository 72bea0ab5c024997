# Writes a linker version script from a list of exported names: the crate openssl-src, made for static libraries, leaves
# OpenSSL's own util/mkdef.pl out.
#
# A line of the list is: name, number, version (3_0_0, or * in a module), conditions. Names whose condition does not
# hold in this configuration may stand in a version script: the linker passes over what is not defined.
use strict;
use warnings;
use Getopt::Long;

GetOptions('ordinals=s' => \my $list, 'type=s' => \my $type, 'name=s' => \my $name, 'OS=s' => \my $os, 'version=s' => \my $of)
    or die "mkdef.pl: not called as OpenSSL's Makefile does\n";
die "mkdef.pl: only ELF is supported, not $os\n" unless $os eq 'linux';

my %names;
open my $in, '<', $list or die "mkdef.pl: $list: $!\n";
while (<$in>) {
    s/#.*//;
    my ($symbol, undef, $version, $conditions) = split;
    push @{ $names{$version} }, $symbol if defined $conditions && $conditions =~ /^EXIST:/;
}

# Dotted numbers, each as a number: 3_10_0 comes after 3_9_0.
my $key = sub { join '', map { sprintf '%04d', $_ } $_[0] =~ /\d+/g };
my $before;
for my $version (sort { $key->($a) cmp $key->($b) } keys %names) {
    my $node = $version eq '*' ? '' : 'OPENSSL_' . $version =~ tr/_/./r;
    print "$node {\n    global:\n", map { "        $_;\n" } @{ $names{$version} };
    print "    local: *;\n" unless defined $before;
    print '}', defined $before ? " $before" : '', ";\n";
    $before = $node;
}
