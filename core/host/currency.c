/* SPDX-License-Identifier: Apache-2.0 */
/* ISO 4217: the codes in use on 2026-11-30. A currency that is not here is a refusal, because a sum in it could not be capped. */
#include "host/marshal.h"

static const char codes[] = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP "
                            "BYN BZD CAD CDF CHF CLF CLP "
                            "CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF "
                            "GTQ GYD HKD HNL HTG HUF IDR "
                            "ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL "
                            "LYD MAD MDL MGA MKD MMK MNT "
                            "MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG "
                            "QAR RON RSD RUB RWF SAR SBD "
                            "SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS "
                            "UAH UGX USD UYU UZS VES VND "
                            "VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG ";

bool currency_known(const char *code)
{
        for (const char *at = codes; *at; at += 4)
                if (strncmp(at, code, 3) == 0)
                        return strlen(code) == 3;
        return false;
}
