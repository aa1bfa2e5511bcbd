import type { Language } from '../terms.ts';

export const TURKISH: Language = {
  code: 'tr',
  terms: {
    neutral:
      'çıplak ayak*, çıplak göz*, çıplak el*, çıplak ağaç*, çıplak dal*, çıplak duvar*, ' +
      'çıplak kol*, çıplak kaya*, çıplak toprak, çıplak köstebek*, tavuk göğ*, hindi göğ*, ' +
      'göğüs kanser*, meme kanser*, göğüs cebi, cinsel eğitim, cinsiyet eşitliği, nude ruj, ' +
      'nude ton*, nude renk*, genç kadın*, genç adam, genç çift, cinsel istismara karşı, ' +
      'kız kulesi',
    minor:
      'küçük kız, küçük kızlar, küçük oğlan, küçük erkek, ilkokul*, anaokul*, kreş, ' +
      'reşit olmayan, reşit olmayan*, kız çocu*, oğlan çocu*, erkek çocu*, çocuk, çocuklar*, ' +
      'çocuğu*, çocukların*, çocuğun*, çocukla*, çocuğa',
    youth:
      '~kız, kızlar, kızın, kızı, ~oğlan, oğlanlar, bebek*, bebeğ*, ergen, ergenler, ~genç, ' +
      'yenidoğan*, kızının, oğlu, torun*, liseli*, ortaokul*, öğrenci*',
    girl: '~kız, kızlar, ~kızı, küçük kız',
    grown: 'yetişkin*, reşit',
    adult: 'kadın*, adam, adamlar, erkekler, anne*, baba*, öğretmen*, çift, hanım, gelin',
    pronoun: '~o, onun, onlar, onların',
    private: 'penis, vajina, cinsel organ*, genital*, mahrem yer*, testis*',
    area:
      '~meme, memeler*, ~memesi, göğüsler*, ~göğsü, göğüs dekoltesi, kalça*, dekolte*, ' +
      'meme ucu, uyluk*, kasık*, ~göt, popo, poposu',
    soft: 'göğüs, göğüsü, göğsü, iç çamaşır*, külot*, sütyen*, tanga, ~karın',
    exposure: 'çıplak, çıplağ*, açıkta, ~açık, teşhir, saydam, şeffaf, transparan, görünen',
    emphasis: 'yakın çekim, yakın plan, vurgu*, odak*, ~dar, ~büyük, ~iri',
    nudity:
      'çıplak*, çıplaklık, çırılçıplak, üstsüz*, giysisiz, kıyafetsiz, soyunmuş, soyunan, ' +
      'soyunuk, yarı çıplak',
    suggestive:
      'erotik*, şehvet*, baştan çıkar*, tahrik*, seksi*, müstehcen*, iç çamaşırıyla, ' +
      'iç çamaşırlı, külotla',
    sexual:
      'seks, cinsel ilişki, cinsel, porno*, mastürb*, orgazm*, tecavüz*, ensest, sevişme*, ' +
      'sevişen',
    negation: 'hiçbir, ~hiç, asla',
    absence: 'yok, olmadan, olmasın, içermeyen, içermez, değil, yasak',
    filler: 'içerik*, öğe*, herhangi',
    either: 'veya, ya da, ~ne',
    medical: 'doktor*, pediatr*, hastane*, klinik, stetoskop*, röntgen*, aşı*, hemşire*, ameliyat*',
    care: 'emzir*, bebek bezi, bezi, pişik, alt değiştirme',
    newborn: 'yenidoğan*, bebek*',
    birth: 'doğum*, ebe',
    art: 'heykel*, resim, tablo, mermer*, bronz*, fresk*, müze*',
    lesson: 'şema, ders kitabı, biyoloji, poster',
    activity: 'yüz*, havuz*, plaj*, deniz*, göl*, mayo*, kumsal*, jimnastik*, bale*, güreş*, judo',
    apart: 've, iken, yanında, önünde, arkasında, bakıyor, bakan',
    evidence:
      've, ~bir, ~bu, için, ile, üzerinde, gün, yanında, çok, oynayan, koşuyor, yaşında, ' +
      'yaşındaki, olan, içinde, gibi',
  },
};
