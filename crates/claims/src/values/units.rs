//! Units of measure and currencies by their names.

/// Normal name of each unit, the abbreviations that count only in this case, and the names, in lower case and singular.
const UNITS: &[(&str, &[&str], &[&str])] = &[
    ("km", &["km", "Km", "KM"], &["kilometre", "kilometer"]),
    ("m", &["m"], &["metre", "meter"]),
    ("cm", &["cm"], &["centimetre", "centimeter"]),
    ("mm", &["mm"], &["millimetre", "millimeter"]),
    ("µm", &["µm", "μm", "um"], &["micrometre", "micrometer", "micron"]),
    ("nm", &["nm"], &["nanometre", "nanometer"]),
    ("mile", &["mi"], &["mile"]),
    ("yard", &["yd", "yds"], &["yard"]),
    ("foot", &["ft"], &["foot", "feet"]),
    ("inch", &[], &["inch", "inche"]),
    ("light-year", &["ly"], &["lightyear"]),
    ("kg", &["kg", "Kg", "KG", "kgs"], &["kilogram", "kilogramme", "kilo"]),
    ("g", &["g"], &["gram", "gramme"]),
    ("mg", &["mg"], &["milligram", "milligramme"]),
    ("µg", &["µg", "μg", "mcg", "ug"], &["microgram"]),
    ("tonne", &["t"], &["tonne"]),
    ("ton", &[], &["ton"]),
    ("pound", &["lb", "lbs"], &["pound"]),
    ("ounce", &["oz"], &["ounce"]),
    ("stone", &[], &["stone"]),
    ("l", &["l", "L"], &["litre", "liter"]),
    ("ml", &["ml", "mL"], &["millilitre", "milliliter"]),
    ("gallon", &["gal"], &["gallon"]),
    ("barrel", &["bbl"], &["barrel"]),
    ("hectare", &["ha"], &["hectare"]),
    ("acre", &[], &["acre"]),
    ("second", &["s", "sec", "secs"], &["second"]),
    ("ms", &["ms"], &["millisecond"]),
    ("minute", &["min", "mins"], &["minute"]),
    ("hour", &["h", "hr", "hrs"], &["hour"]),
    ("day", &[], &["day"]),
    ("week", &["wk", "wks"], &["week"]),
    ("month", &[], &["month"]),
    ("year", &["yr", "yrs"], &["year"]),
    ("decade", &[], &["decade"]),
    ("century", &[], &["century", "centurie"]),
    ("kelvin", &[], &["kelvin"]),
    ("degree", &["°"], &["degree"]),
    ("W", &["W"], &["watt"]),
    ("kW", &["kW", "KW"], &["kilowatt"]),
    ("MW", &["MW"], &["megawatt"]),
    ("GW", &["GW"], &["gigawatt"]),
    ("kWh", &["kWh", "KWh"], &["kilowatthour"]),
    ("V", &["V"], &["volt"]),
    ("A", &[], &["ampere", "amp"]),
    ("Hz", &["Hz"], &["hertz"]),
    ("kHz", &["kHz"], &["kilohertz"]),
    ("MHz", &["MHz"], &["megahertz"]),
    ("GHz", &["GHz"], &["gigahertz"]),
    ("bit", &[], &["bit"]),
    ("byte", &[], &["byte"]),
    ("kB", &["kB", "KB"], &["kilobyte"]),
    ("MB", &["MB"], &["megabyte"]),
    ("GB", &["GB"], &["gigabyte"]),
    ("TB", &["TB"], &["terabyte"]),
    ("km/h", &["kph", "kmh"], &[]),
    ("mph", &["mph"], &[]),
    ("knot", &["kn"], &["knot"]),
    ("J", &["J"], &["joule"]),
    ("kJ", &["kJ"], &["kilojoule"]),
    ("calorie", &["cal"], &["calorie"]),
    ("kcal", &["kcal"], &["kilocalorie"]),
    ("N", &[], &["newton"]),
    ("Pa", &["Pa"], &["pascal"]),
    ("hPa", &["hPa"], &["hectopascal"]),
    ("bar", &[], &["bar"]),
    ("mol", &["mol"], &["mole"]),
    ("dB", &["dB"], &["decibel"]),
];

/// Squares, cubes and speeds: the plain unit, its square, its cube, and what it is per hour and per second.
const DERIVED: &[(&str, &str, &str, &str, &str)] = &[
    ("km", "km²", "km³", "km/h", "km/s"),
    ("m", "m²", "m³", "m/h", "m/s"),
    ("cm", "cm²", "cm³", "cm/h", "cm/s"),
    ("mm", "mm²", "mm³", "mm/h", "mm/s"),
    ("mile", "mile²", "mile³", "mph", "mile/s"),
    ("foot", "foot²", "foot³", "foot/h", "foot/s"),
    ("inch", "inch²", "inch³", "inch/h", "inch/s"),
    ("yard", "yard²", "yard³", "yard/h", "yard/s"),
];

/// What changes a plain unit into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Derivation {
    Square,
    Cube,
    PerHour,
    PerSecond,
}

/// Normal name of the unit that a word names, case-sensitive for abbreviations.
pub(crate) fn unit(word: &str) -> Option<&'static str> {
    if let Some((name, ..)) = UNITS.iter().find(|(_, short, _)| short.contains(&word)) {
        return Some(name);
    }
    if word.chars().count() < 3 {
        return None;
    }
    let lower = word.to_lowercase();
    let singular = lower.strip_suffix('s').unwrap_or(&lower);
    let matches = |names: &[&str]| names.contains(&singular) || names.contains(&lower.as_str());
    UNITS.iter().find(|(_, _, names)| matches(names)).map(|(name, ..)| *name)
}

/// The unit's square, cube or speed, where it has one.
pub(crate) fn derived(unit: &str, derivation: Derivation) -> Option<&'static str> {
    let row = DERIVED.iter().find(|(plain, ..)| *plain == unit)?;
    Some(match derivation {
        Derivation::Square => row.1,
        Derivation::Cube => row.2,
        Derivation::PerHour => row.3,
        Derivation::PerSecond => row.4,
    })
}

/// The currency that a sign before or after a number names.
pub(crate) fn currency_sign(sign: &str) -> Option<&'static str> {
    Some(match sign {
        "$" => "USD",
        "€" => "EUR",
        "£" => "GBP",
        "¥" => "JPY",
        "₹" => "INR",
        "₩" => "KRW",
        "₽" => "RUB",
        "₺" => "TRY",
        "₪" => "ILS",
        "₴" => "UAH",
        "₦" => "NGN",
        "฿" => "THB",
        _ => return None,
    })
}

/// The currency of "US$", "A$" and such, from the letters before the dollar sign.
pub(crate) fn dollar_prefix(letters: &str) -> Option<&'static str> {
    Some(match letters {
        "US" | "U" => "USD",
        "A" | "AU" => "AUD",
        "C" | "CA" | "Can" => "CAD",
        "NZ" => "NZD",
        "HK" => "HKD",
        "S" => "SGD",
        "R" => "BRL",
        _ => return None,
    })
}

/// ISO codes that count as currency where they touch or follow a number.
pub(crate) fn currency_code(word: &str) -> Option<&'static str> {
    const CODES: &[&str] = &[
        "USD", "EUR", "GBP", "JPY", "CHF", "INR", "CNY", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK", "PLN",
        "CZK", "HUF", "RUB", "TRY", "BRL", "MXN", "ZAR", "KRW", "SGD", "HKD", "ILS", "UAH", "THB", "IDR",
        "SAR", "AED", "EGP", "NGN",
    ];
    CODES.iter().find(|code| **code == word).copied()
}

/// The currency that a word after a number names.
pub(crate) fn currency_word(lower: &str) -> Option<&'static str> {
    Some(match lower {
        "dollar" | "dollars" => "USD",
        "euro" | "euros" => "EUR",
        "sterling" => "GBP",
        "yen" => "JPY",
        "yuan" | "renminbi" => "CNY",
        "rupee" | "rupees" => "INR",
        "ruble" | "rubles" | "rouble" | "roubles" => "RUB",
        "franc" | "francs" => "franc",
        "peso" | "pesos" => "peso",
        "cent" | "cents" => "cent",
        "pence" | "penny" => "penny",
        "krona" | "kronor" | "krone" | "kroner" => "krona",
        "zloty" | "zlotys" | "złoty" => "PLN",
        "bitcoin" | "bitcoins" => "bitcoin",
        _ => return None,
    })
}
