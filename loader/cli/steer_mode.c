// SPDX-License-Identifier: GPL-2.0
#include "cli/steer_mode.h"
#include "state/steer.h"

static const char *const names[] = {
#define MODE_NAME(id, name, policy, text) name,
	MPS_STEER_MODES(MODE_NAME)
#undef MODE_NAME
};

const char *steer_mode_name(unsigned int mode)
{
	return mode < MPS_NR_STEER_MODES ? names[mode] : "?";
}

const char *steer_period_name(unsigned int period)
{
	static const char *const periods[MPS_NR_STEER_PERIODS] = { "-", "day", "week", "month" };

	return period < MPS_NR_STEER_PERIODS ? periods[period] : "?";
}
