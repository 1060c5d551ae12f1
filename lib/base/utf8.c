#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

size_t
utf8_bytes(const void *p, size_t n)
{
	const unsigned char *s = p;
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (len > n)
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

size_t
utf8_shown(const void *p, size_t n)
{
	const unsigned char *s = p;

	if (s[0] < 0x20 || s[0] == 0x7f)
		return 0;
	if (n > 1 && s[0] == 0xc2 && s[1] <= 0x9f)
		return 0;
	return utf8_bytes(s, n);
}

const char *
utf8_quote(const char *p, size_t n, char text[UTF8_QUOTE_SIZE])
{
	char *to = text;
	size_t i = 0;

	while (i < n) {
		size_t len = utf8_shown(p + i, n - i);

		if (i + (len ? len : 1) > UTF8_QUOTE_BYTES) {
			strcpy(to, "...");
			return text;
		}
		if (len)
			memcpy(to, p + i, len);
		else
			snprintf(to, 5, "\\x%02x", (unsigned char)p[i]);
		to += len ? len : 4;
		i += len ? len : 1;
	}
	*to = '\0';
	return text;
}
