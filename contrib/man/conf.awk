# SPDX-License-Identifier: Apache-2.0
# portald.conf.example -> portald.conf(5): the comment above a key is its description, a block is a section.
function flush_text() { if (text != "") print text; text = "" }
function roff(s) { gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); sub(/^[.']/, "\\\\\\&&", s); return s }
BEGIN {
        print ".\\\" made from portald.conf.example"
        print ".TH PORTALD.CONF 5 \"\" portald \"portald manual\""
        print ".SH NAME\nportald.conf \\- the site config of portald and portal\\-runner\n.SH DESCRIPTION"
}
/SPDX/ { next }
{ line = $0; sub(/^[ \t]+/, "", line); bare = line; sub(/^# ?/, "", bare); sub(/^[ \t]+/, "", bare) }
line ~ /^#?$/ { if (!started) { flush_text(); print ".PP" } else flush_text(); next }
bare ~ /^[a-z_]+ = .*;$/ {
        sub(/;$/, "", bare)
        print ".TP\n\\fB" roff(bare) "\\fP"; flush_text(); next
}
bare ~ /^[a-z_]+: *\{ *\}?;?$/ || bare ~ /^[a-z_]+: *\{$/ {
        started = 1
        name = bare; sub(/:.*/, "", name)
        depth++; if (bare ~ /\}/) depth--
        print (depth <= 1 ? ".SH " toupper(name) " BLOCK" : ".SS " name); flush_text(); next
}
bare ~ /^\};$/ { depth--; flush_text(); next }
line ~ /^#/ { text = text == "" ? roff(bare) : text "\n" roff(bare); next }
END {
        print ".SH FILES\n.I /etc/portald/portald.conf\n.br\n.I /etc/portald/conf.d/NAME.conf"
        print ".SH SEE ALSO\n.BR portald (8),\n.BR portal\\-runner (8),\n.BR portal (1)"
}
