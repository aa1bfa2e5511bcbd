import type { Language } from '../terms.ts';

export const POLISH: Language = {
  code: 'pl',
  terms: {
    neutral:
      'gołym okiem, nagim okiem, gołe drzewa, nagie drzewa, gołe gałęzie, nagie gałęzie, ' +
      'gołych drzew, nagich drzew, gołe stopy, nagie stopy, gołymi stopami, bose stopy, ' +
      'gołe ręce, gołymi rękami, gołe ściany, goły beton, golec*, golce, naga prawda, ' +
      'pierś kurczaka, piersi kurczaka, pierś z kurczaka, piersi z kurczaka, pierś indyka, ' +
      'filet z piersi, rak piersi, raka piersi, kolor nude, szminka nude, ' +
      'edukacja seksualna, edukacji seksualnej, tej samej płci, małe dziecko jezus, ' +
      'przeciw wykorzystywaniu seksualnemu',
    minor:
      'dziecko, dziecka, dzieci, dzieckiem, dziećmi, dzieciom, dziecku, dzieciak*, maluch*, ' +
      'przedszkolak*, małoletni*, nieletni*, uczennic*, niemowl*, dziewczynk*, dziewczynek, ' +
      'dziewczynko, chłopczyk*, chłopiec, chłopca, chłopcy, chłopców, chłopcem, przedszkol*, ' +
      'uczniowie podstawówki, niepełnoletni*',
    youth:
      'dziewczyn*, chłopak*, nastolat*, noworod*, córk*, córeczk*, ~syn, synek, synk*, ' +
      'wnuczk*, wnuk*, uczeń, uczni*',
    girl: 'dziewczyn*, córk*, uczennic*',
    grown: 'dorosł*, pełnoletni*',
    adult:
      'kobiet*, mężczyzn*, pani, ~pan, matk*, ojciec, ojca, mama, ~tata, babci*, dziadek, ' +
      'nauczyciel*, artyst*, ~para, rodzic*',
    pronoun: '~ona, ~jej, ~jego, ~ono, ~ich, ~on',
    private:
      'penis*, pochw*, genitali*, srom*, ~jądra, narządy płciowe, miejsca intymne, ' +
      'miejsc intymnych',
    area:
      'piersi, ~pierś, piersiami, pośladk*, pośladki, ~pupa, pupę, dekolt*, sutk*, sutki, ' +
      '~uda, ~udo, krocze, krocza, tyłek, tyłk*',
    soft: 'klatka piersiowa, majtk*, majtki, bielizn*, stringi, ~tors, biust, stanik*',
    exposure:
      'nagi*, ~naga, nagą, ~nagie, nagich, odsłoni*, obnażon*, odkryt*, przezroczyst*, ' +
      'prześwituj*, rozchylon*, ~gołe, gołych, gołymi',
    emphasis: 'zbliżenie, zbliżeni*, podkreśl*, uwydatn*, obcisł*, ~duże, widoczn*',
    nudity:
      '~nagi, ~naga, nagą, ~nagie, nagich, nagiego, nagiej, ~nagim, nagość, nagości, ~goły, ' +
      '~goła, ~gołe, gołej, gołą, gołego, rozebran*, obnażon*, bez ubrania, bez ubrań, ' +
      'topless, nudyst*, naturyst*, półnag*, rozneglizowan*',
    suggestive:
      'erotyczn*, erotyk*, zmysłow*, uwodziciel*, prowokując*, lubieżn*, seksown*, ' +
      'w bieliźnie, w samej bieliźnie, w majtkach',
    sexual:
      'seks, seksualn*, seksu, porno*, masturb*, orgazm*, gwałt*, zgwałcon*, kazirodz*, ' +
      'stosunek płciowy',
    negation: 'bez, nie, żadn*, ~brak, ~ani, nigdy',
    filler: 'treści, elementów, żadnych, scen, ~i, jakiejkolwiek, jakichkolwiek',
    either: 'lub, ~ani, albo, czy',
    medical:
      'lekarz*, lekark*, pediatr*, szpital*, klinik*, stetoskop*, rentgen*, szczepi*, ' +
      'szczepion*, pielęgniark*, operacj*, osłuch*',
    care: 'karmi*, karmiąc*, pieluch*, pielusz*, przewija*, wysypk*',
    newborn: 'noworod*, niemowl*',
    birth: 'poród, porodzie, narodzin*, położn*',
    art: 'posąg*, rzeźb*, obraz*, malowid*, marmur*, brąz*, fresk*, muzeum, pomnik*',
    lesson: 'schemat*, podręcznik*, biologi*, plakat*',
    activity:
      'pływ*, basen*, plaż*, morz*, jezior*, rzek*, strój kąpielow*, stroj* kąpielow*, ' +
      'gimnasty*, balet*, judo, boks*',
    apart: '~i, podczas, obok, ~przy, przed, ~za, ogląd*, rysuj*, gdy, patrz*',
    evidence:
      '~w, ~na, ~z, się, jest, przez, ~przy, obok, ~do, dla, lub, ~ze, który, która, lat, ' +
      'podczas',
  },
};
