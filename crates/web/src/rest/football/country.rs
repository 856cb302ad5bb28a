//! Countries by name and by code. Feeds give one of the two; clients ask for either.

use base::names::Name;

/// Countries that compete separately without a code of their own, and the code that also finds them.
const WITHIN: &[(&str, &str)] =
    &[("England", "GB"), ("Scotland", "GB"), ("Wales", "GB"), ("Northern Ireland", "GB")];

/// ISO 3166-1 alpha-2, with the short names of the time zone database, except for the United Kingdom and the two
/// Koreas.
///
/// Not from a crate: clients compare the names, and `rust_iso3166` and `celes` have other ones for more than
/// fifty of these countries, such as `Bolivia (Plurinational State of)`.
const COUNTRIES: &[(&str, &str)] = &[
    ("AD", "Andorra"),
    ("AE", "United Arab Emirates"),
    ("AF", "Afghanistan"),
    ("AG", "Antigua & Barbuda"),
    ("AI", "Anguilla"),
    ("AL", "Albania"),
    ("AM", "Armenia"),
    ("AO", "Angola"),
    ("AQ", "Antarctica"),
    ("AR", "Argentina"),
    ("AS", "Samoa (American)"),
    ("AT", "Austria"),
    ("AU", "Australia"),
    ("AW", "Aruba"),
    ("AX", "Åland Islands"),
    ("AZ", "Azerbaijan"),
    ("BA", "Bosnia & Herzegovina"),
    ("BB", "Barbados"),
    ("BD", "Bangladesh"),
    ("BE", "Belgium"),
    ("BF", "Burkina Faso"),
    ("BG", "Bulgaria"),
    ("BH", "Bahrain"),
    ("BI", "Burundi"),
    ("BJ", "Benin"),
    ("BL", "St Barthelemy"),
    ("BM", "Bermuda"),
    ("BN", "Brunei"),
    ("BO", "Bolivia"),
    ("BQ", "Caribbean NL"),
    ("BR", "Brazil"),
    ("BS", "Bahamas"),
    ("BT", "Bhutan"),
    ("BV", "Bouvet Island"),
    ("BW", "Botswana"),
    ("BY", "Belarus"),
    ("BZ", "Belize"),
    ("CA", "Canada"),
    ("CC", "Cocos (Keeling) Islands"),
    ("CD", "Congo (Dem. Rep.)"),
    ("CF", "Central African Rep."),
    ("CG", "Congo (Rep.)"),
    ("CH", "Switzerland"),
    ("CI", "Côte d'Ivoire"),
    ("CK", "Cook Islands"),
    ("CL", "Chile"),
    ("CM", "Cameroon"),
    ("CN", "China"),
    ("CO", "Colombia"),
    ("CR", "Costa Rica"),
    ("CU", "Cuba"),
    ("CV", "Cape Verde"),
    ("CW", "Curaçao"),
    ("CX", "Christmas Island"),
    ("CY", "Cyprus"),
    ("CZ", "Czech Republic"),
    ("DE", "Germany"),
    ("DJ", "Djibouti"),
    ("DK", "Denmark"),
    ("DM", "Dominica"),
    ("DO", "Dominican Republic"),
    ("DZ", "Algeria"),
    ("EC", "Ecuador"),
    ("EE", "Estonia"),
    ("EG", "Egypt"),
    ("EH", "Western Sahara"),
    ("ER", "Eritrea"),
    ("ES", "Spain"),
    ("ET", "Ethiopia"),
    ("FI", "Finland"),
    ("FJ", "Fiji"),
    ("FK", "Falkland Islands"),
    ("FM", "Micronesia"),
    ("FO", "Faroe Islands"),
    ("FR", "France"),
    ("GA", "Gabon"),
    ("GB", "United Kingdom"),
    ("GD", "Grenada"),
    ("GE", "Georgia"),
    ("GF", "French Guiana"),
    ("GG", "Guernsey"),
    ("GH", "Ghana"),
    ("GI", "Gibraltar"),
    ("GL", "Greenland"),
    ("GM", "Gambia"),
    ("GN", "Guinea"),
    ("GP", "Guadeloupe"),
    ("GQ", "Equatorial Guinea"),
    ("GR", "Greece"),
    ("GS", "South Georgia & the South Sandwich Islands"),
    ("GT", "Guatemala"),
    ("GU", "Guam"),
    ("GW", "Guinea-Bissau"),
    ("GY", "Guyana"),
    ("HK", "Hong Kong"),
    ("HM", "Heard Island & McDonald Islands"),
    ("HN", "Honduras"),
    ("HR", "Croatia"),
    ("HT", "Haiti"),
    ("HU", "Hungary"),
    ("ID", "Indonesia"),
    ("IE", "Ireland"),
    ("IL", "Israel"),
    ("IM", "Isle of Man"),
    ("IN", "India"),
    ("IO", "British Indian Ocean Territory"),
    ("IQ", "Iraq"),
    ("IR", "Iran"),
    ("IS", "Iceland"),
    ("IT", "Italy"),
    ("JE", "Jersey"),
    ("JM", "Jamaica"),
    ("JO", "Jordan"),
    ("JP", "Japan"),
    ("KE", "Kenya"),
    ("KG", "Kyrgyzstan"),
    ("KH", "Cambodia"),
    ("KI", "Kiribati"),
    ("KM", "Comoros"),
    ("KN", "St Kitts & Nevis"),
    ("KP", "North Korea"),
    ("KR", "South Korea"),
    ("KW", "Kuwait"),
    ("KY", "Cayman Islands"),
    ("KZ", "Kazakhstan"),
    ("LA", "Laos"),
    ("LB", "Lebanon"),
    ("LC", "St Lucia"),
    ("LI", "Liechtenstein"),
    ("LK", "Sri Lanka"),
    ("LR", "Liberia"),
    ("LS", "Lesotho"),
    ("LT", "Lithuania"),
    ("LU", "Luxembourg"),
    ("LV", "Latvia"),
    ("LY", "Libya"),
    ("MA", "Morocco"),
    ("MC", "Monaco"),
    ("MD", "Moldova"),
    ("ME", "Montenegro"),
    ("MF", "St Martin (French)"),
    ("MG", "Madagascar"),
    ("MH", "Marshall Islands"),
    ("MK", "North Macedonia"),
    ("ML", "Mali"),
    ("MM", "Myanmar (Burma)"),
    ("MN", "Mongolia"),
    ("MO", "Macau"),
    ("MP", "Northern Mariana Islands"),
    ("MQ", "Martinique"),
    ("MR", "Mauritania"),
    ("MS", "Montserrat"),
    ("MT", "Malta"),
    ("MU", "Mauritius"),
    ("MV", "Maldives"),
    ("MW", "Malawi"),
    ("MX", "Mexico"),
    ("MY", "Malaysia"),
    ("MZ", "Mozambique"),
    ("NA", "Namibia"),
    ("NC", "New Caledonia"),
    ("NE", "Niger"),
    ("NF", "Norfolk Island"),
    ("NG", "Nigeria"),
    ("NI", "Nicaragua"),
    ("NL", "Netherlands"),
    ("NO", "Norway"),
    ("NP", "Nepal"),
    ("NR", "Nauru"),
    ("NU", "Niue"),
    ("NZ", "New Zealand"),
    ("OM", "Oman"),
    ("PA", "Panama"),
    ("PE", "Peru"),
    ("PF", "French Polynesia"),
    ("PG", "Papua New Guinea"),
    ("PH", "Philippines"),
    ("PK", "Pakistan"),
    ("PL", "Poland"),
    ("PM", "St Pierre & Miquelon"),
    ("PN", "Pitcairn"),
    ("PR", "Puerto Rico"),
    ("PS", "Palestine"),
    ("PT", "Portugal"),
    ("PW", "Palau"),
    ("PY", "Paraguay"),
    ("QA", "Qatar"),
    ("RE", "Réunion"),
    ("RO", "Romania"),
    ("RS", "Serbia"),
    ("RU", "Russia"),
    ("RW", "Rwanda"),
    ("SA", "Saudi Arabia"),
    ("SB", "Solomon Islands"),
    ("SC", "Seychelles"),
    ("SD", "Sudan"),
    ("SE", "Sweden"),
    ("SG", "Singapore"),
    ("SH", "St Helena"),
    ("SI", "Slovenia"),
    ("SJ", "Svalbard & Jan Mayen"),
    ("SK", "Slovakia"),
    ("SL", "Sierra Leone"),
    ("SM", "San Marino"),
    ("SN", "Senegal"),
    ("SO", "Somalia"),
    ("SR", "Suriname"),
    ("SS", "South Sudan"),
    ("ST", "Sao Tome & Principe"),
    ("SV", "El Salvador"),
    ("SX", "St Maarten (Dutch)"),
    ("SY", "Syria"),
    ("SZ", "Eswatini (Swaziland)"),
    ("TC", "Turks & Caicos Is"),
    ("TD", "Chad"),
    ("TF", "French S. Terr."),
    ("TG", "Togo"),
    ("TH", "Thailand"),
    ("TJ", "Tajikistan"),
    ("TK", "Tokelau"),
    ("TL", "East Timor"),
    ("TM", "Turkmenistan"),
    ("TN", "Tunisia"),
    ("TO", "Tonga"),
    ("TR", "Turkey"),
    ("TT", "Trinidad & Tobago"),
    ("TV", "Tuvalu"),
    ("TW", "Taiwan"),
    ("TZ", "Tanzania"),
    ("UA", "Ukraine"),
    ("UG", "Uganda"),
    ("UM", "US minor outlying islands"),
    ("US", "United States"),
    ("UY", "Uruguay"),
    ("UZ", "Uzbekistan"),
    ("VA", "Vatican City"),
    ("VC", "St Vincent"),
    ("VE", "Venezuela"),
    ("VG", "Virgin Islands (UK)"),
    ("VI", "Virgin Islands (US)"),
    ("VN", "Vietnam"),
    ("VU", "Vanuatu"),
    ("WF", "Wallis & Futuna"),
    ("WS", "Samoa (western)"),
    ("YE", "Yemen"),
    ("YT", "Mayotte"),
    ("ZA", "South Africa"),
    ("ZM", "Zambia"),
    ("ZW", "Zimbabwe"),
];

/// The name of a country that a feed gives as a code or a name.
pub(in crate::rest) fn name(country: &str) -> String {
    let entry = COUNTRIES.iter().find(|(code, _)| code.eq_ignore_ascii_case(country));
    entry.map_or(country, |(_, name)| name).to_owned()
}

/// The same for an optional country: an empty string if there is none, as clients declare a string.
pub(in crate::rest) fn name_or_empty(country: Option<&str>) -> String {
    country.map(name).unwrap_or_default()
}

/// The code of a country that a feed gives as a code or a name; `None` if it has none.
pub(in crate::rest) fn code(country: &str) -> Option<String> {
    let is_it =
        |pair: &&(&str, &str)| [pair.0, pair.1].iter().any(|it| it.eq_ignore_ascii_case(country));
    let entry = COUNTRIES.iter().find(is_it);
    let within = || WITHIN.iter().find(|(name, _)| name.eq_ignore_ascii_case(country));
    let code = entry.map(|(code, _)| *code).or_else(|| within().map(|(_, code)| *code));
    code.map(ToOwned::to_owned)
}

/// The country that a client may ask for, and how it is compared.
#[derive(Debug)]
pub(in crate::rest) struct CountryFilter {
    wanted: Option<WantedCountry>,
    is: fn(&WantedCountry, Option<&str>) -> bool,
}

impl CountryFilter {
    pub(in crate::rest) fn new(
        text: Option<&str>,
        is: fn(&WantedCountry, Option<&str>) -> bool,
    ) -> Self {
        Self { wanted: text.map(WantedCountry::new), is }
    }

    pub(in crate::rest) fn is_set(&self) -> bool {
        self.wanted.is_some()
    }

    /// Whether a feed's country is it.
    pub(in crate::rest) fn passes(&self, country: Option<&str>) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| (self.is)(wanted, country))
    }
}

/// A country that a client asks for.
#[derive(Debug, Clone)]
pub(in crate::rest) struct WantedCountry {
    name: Name,
}

impl WantedCountry {
    fn new(text: &str) -> Self {
        Self { name: Name::new(text) }
    }

    /// Whether a feed's country has this name, or is reported as this text.
    pub(in crate::rest) fn is_named(&self, country: Option<&str>) -> bool {
        country.is_some_and(|country| {
            let named = name(country);
            self.name.is(&named) || named != country && self.name.is(country)
        })
    }

    /// Whether a feed's country has this name or code.
    pub(in crate::rest) fn is(&self, country: Option<&str>) -> bool {
        self.is_named(country) || self.has_code(country)
    }

    /// Whether a feed's country has this code.
    pub(in crate::rest) fn has_code(&self, country: Option<&str>) -> bool {
        let found = country.and_then(code);
        found.is_some_and(|found| found.eq_ignore_ascii_case(self.name.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn country_is_found_by_name_and_by_code_in_either_form() {
        assert_eq!(name("DE"), "Germany");
        assert_eq!(name("England"), "England");
        assert_eq!(code("Germany").as_deref(), Some("DE"));
        assert_eq!(code("England").as_deref(), Some("GB"));
        assert_eq!(code("Atlantis"), None);
        let wanted = WantedCountry::new("de");
        assert!(wanted.has_code(Some("Germany")) && !wanted.has_code(None));
        for (wanted, country, is_named, is) in [
            ("germany", Some("DE"), true, true),
            ("de", Some("DE"), true, true),
            ("de", Some("Germany"), false, true),
            ("France", Some("DE"), false, false),
            ("turkiye", Some("Türkiye"), true, true),
            ("cote d’ivoire", Some("Côte d'Ivoire"), true, true),
            ("Germany", None, false, false),
        ] {
            let parsed = WantedCountry::new(wanted);
            assert_eq!((parsed.is_named(country), parsed.is(country)), (is_named, is), "{wanted}");
        }
    }
}
