//! Endings of domains, and punctuation: what decides whether a word is a link or a tag.

/// Domains of countries, and the general ones that people use. The whole list has well over a
/// thousand entries and changes every month; an address with `https://` needs none of it.
const ENDINGS: &str = " \
    ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs \
    bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec \
    ee eg er es et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy \
    hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz \
    la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx \
    my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re \
    ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th \
    tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw \
    com net org edu gov mil int info biz name pro aero coop museum jobs mobi travel tel cat asia \
    post academy accountants agency app apartments art arts associates auction audio auto band \
    bar bargains beauty beer berlin best bet bible bike bingo bio black blog blue boats book \
    boutique broker build builders business buzz bzh cab cafe camera camp capital car cards care \
    careers cars casa cash catering center charity chat cheap church city claims cleaning click \
    clinic clothing cloud club coach codes coffee college community company computer construction \
    consulting contact cooking cool country courses credit cricket cruises cymru dance date \
    dating day deals degree delivery democrat dental design dev diamonds diet digital direct \
    directory discount doctor dog domains earth eco education email energy engineer engineering \
    enterprises equipment estate eus events exchange expert express fail faith family fan fans \
    farm fashion film finance financial fish fit fitness flights florist flowers football forsale \
    forum foundation fun fund furniture gal gallery game games garden gay gift gifts gives glass \
    global gmbh gold golf gop graphics gratis green group guide guitars guru hamburg haus health \
    healthcare help hiphop hockey holiday homes horse hospital host hosting hotel hotels house how \
    inc industries ink institute insurance international investments irish jewelry juegos kaufen \
    kids kim kitchen koeln land law lawyer lease legal lgbt life lighting limited limo link live \
    llc loan loans lol london love ltd luxury maison management map market marketing mba media \
    memorial men miami moda moe mom money mortgage moscow movie music navy network news nexus \
    ninja nyc observer one online ooo organic page paris partners parts party pet pharmacy photo \
    photography photos pics pictures pink pizza plumbing plus poker press productions promo \
    properties property pub quebec radio realty recipes red rehab reise reisen rent rentals repair \
    report republican rest restaurant review reviews rip rocks rodeo rugby run sale salon sarl \
    school science scot security select services sex sexy shoes shop shopping show singles site ski \
    soccer social software solar solutions space sport storage store stream studio study style \
    supplies supply support surf surgery swiss systems tattoo tax taxi team tech technology tennis \
    theater tickets tips tires today tokyo tools top tours town toys trade training tube university \
    uno vacations vegas ventures versicherung vet video villas vin vip vision vodka vote voyage \
    wales watch webcam website wedding wien wiki win wine work works world wtf xyz yoga you zone ";

/// Whether a domain can end like this; an ending in capitals cannot.
pub(super) fn is_known(ending: &str) -> bool {
    let is_word = ending.len() > 1 && ending.bytes().all(|byte| byte.is_ascii_lowercase());
    is_word && ENDINGS.contains(&format!(" {ending} "))
}

/// The punctuation of most scripts; signs of mathematics and money are none.
pub(super) fn is_punctuation(c: char) -> bool {
    match c {
        '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~' => false,
        '＄' | '＋' | '＜' | '＝' | '＞' | '＾' | '｀' | '｜' | '～' => false,
        '\u{2044}' | '\u{2052}' | '\u{3004}' | '\u{3012}' | '\u{3013}' => false,
        '¡' | '§' | '«' | '¶' | '·' | '»' | '¿' | '\u{37e}' | '\u{387}' => true,
        '՚'..='՟' | '։' | '֊' | '־' | '׀' | '׃' | '׆' | '׳' | '״' => true,
        '؉' | '؊' | '،' | '؍' | '؛' | '؝'..='؟' | '٪'..='٭' | '۔' | '।' | '॥' | '॰' => {
            true
        }
        '๏' | '๚' | '๛' | '፠'..='፨' | '។'..='៖' | '៘'..='៚' | '᠀'..='᠊' => {
            true
        }
        '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' => true,
        '\u{2308}'..='\u{230b}' | '\u{2768}'..='\u{2775}' | '\u{27e6}'..='\u{27ef}' => true,
        '\u{2983}'..='\u{2998}' | '\u{2e00}'..='\u{2e5d}' => true,
        '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' => true,
        '\u{3030}' | '\u{303d}' | '\u{30a0}' | '\u{30fb}' => true,
        '\u{fe10}'..='\u{fe19}' | '\u{fe30}'..='\u{fe61}' | '\u{ff01}'..='\u{ff0f}' => true,
        '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}' | '\u{ff20}' | '\u{ff3b}'..='\u{ff3d}' => true,
        '\u{ff3f}' | '\u{ff5b}' | '\u{ff5d}' | '\u{ff5f}'..='\u{ff65}' => true,
        _ => c.is_ascii_punctuation(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_whole_words_in_lower_case() {
        for ending in ["com", "de", "io", "social", "zone", "ac"] {
            assert!(is_known(ending), "{ending}");
        }
        for ending in ["", " ", "c", "COM", "js", "com net", "soc", "lovelace"] {
            assert!(!is_known(ending), "{ending}");
        }
    }

    #[test]
    fn signs_of_money_and_mathematics_are_not_punctuation() {
        for c in ['!', '.', '_', '#', '。', '？', '…', '’', '»', '،'] {
            assert!(is_punctuation(c), "{c}");
        }
        for c in ['a', '1', '$', '+', '€', '日', '🎉', ' '] {
            assert!(!is_punctuation(c), "{c}");
        }
    }
}
