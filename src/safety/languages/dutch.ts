import type { Language } from '../terms.ts';

export const DUTCH: Language = {
  code: 'nl',
  terms: {
    neutral:
      'blote voeten, blote oog, blote handen, blote armen, blote benen, blote tenen, ' +
      'blote hoofd, naakte bomen, kale bomen, naakte molrat*, naakte waarheid, naakte muur, ' +
      'naaktslak*, naakte oog, kipborst, borstkas, borstzak, borstkanker*, borstcrawl, ' +
      'schoolslag, kalkoenborst, nude kleur*, nude lippenstift, nude tinten, ' +
      'seksuele voorlichting, zelfde geslacht, hetzelfde geslacht, kinderboek*, ' +
      'kinderwagen*, jonge vrouw, jonge vrouwen, jonge man, jonge mannen, jong stel, ' +
      'jonge hond*, jonge kat*, jonge eend*, nudel*, tegen seksueel misbruik, ' +
      'tegen kindermisbruik',
    minor:
      'kinderen, ~kind, kindje, kindjes, kleuter*, peuter*, minderjarig*, schoolmeisje*, ' +
      'schooljongen*, schoolkind*, basisscholier*, klein meisje, kleine meisje*, ' +
      'kleine jongen*, zuigeling*, kleinkind*',
    youth:
      'meisje, meisjes, jongen, jongens, jongetje*, tiener*, puber*, ~baby, dochter*, ~zoon, ' +
      'zoontje, pasgeboren*, scholier*, leerling*, kleindochter, kleinzoon',
    girl: 'meisje*, dochter*, schoolmeisje*',
    grown: 'volwassen*, meerderjarig*',
    adult:
      'vrouw, vrouwen, ~man, mannen, ~dame, moeder, vader, mama, papa, oma, opa, juf, ' +
      'leraar, ouders, koppel, kunstenaar*',
    pronoun: '~zij, ~ze, ~haar, ~hij, ~zijn, ~hun',
    private: 'geslachtsdelen, geslachtsdeel, schaamstreek, intieme delen, schaamlippen, testikels',
    area: 'borsten, ~borst, billen, tepel*, ~dij, dijen, decolleté, ~kruis, achterwerk, kont',
    soft: 'onderbroek*, ondergoed, slipje*, ~bh, ~string, buik, bovenlijf',
    exposure:
      'bloot, blote, naakt*, ontblote, ontbloot, onbedekt*, doorzichtig*, doorschijnend*, ' +
      'gespreide, zichtbaar',
    emphasis: 'nadruk, benadruk*, strakke, ingezoomd, ~focus, ~grote',
    nudity:
      'naakt*, bloot, blote, naaktheid, uitgekleed*, ontkleed*, zonder kleren, ' +
      'zonder kleding, topless, ongekleed*, halfnaakt*, naturist*, spiernaakt*, ' +
      'poedelnaakt*, bloot*',
    suggestive:
      'erotisch*, erotiek, sensueel, sensuele, verleidelijk*, uitdagend gekleed, wulps*, ' +
      'lingerie, sexy, in ondergoed, in haar ondergoed, in slipje',
    sexual:
      'seks, seksueel, seksuele, porno*, masturb*, masturber*, orgasme*, verkracht*, neuken, ' +
      'neukt, geslachtsgemeenschap, vrijen',
    negation: 'geen, zonder, ~niet, nooit, noch',
    filler: 'enkele, enige, inhoud, ~en, expliciete, vorm, ~van, beelden',
    either: '~of, noch',
    medical:
      '~arts, ~dokter, kinderarts, ziekenhuis, kliniek, stethoscoop, röntgen*, vaccin*, ' +
      'inent*, operatie',
    care: 'borstvoeding, luier*, verschoon*, aankleedkussen, uitslag, zoogt, voedt haar',
    newborn: 'pasgeboren*, baby',
    birth: 'geboorte, bevalling, verloskundige*, huid op huid',
    art:
      'standbeeld*, beeldhouw*, sculptuur*, schilderij*, marmer*, brons, bronzen, fresco*, ' +
      'museum, ~beeld',
    lesson: 'schema, leerboek, biologie*, poster',
    activity:
      'zwem*, zwembad, strand, zee, meer, rivier, badpak*, badje, turnen, turnster*, ballet, ' +
      'judo, boksen',
    apart: '~en, terwijl, naast, achter, ~bij, ~voor, kijk*, teken*, langs',
    evidence:
      'een, ~het, ~de, ~en, met, op het, ~in het, van de, ~aan, naar, ~voor, uit, wordt, ' +
      'zijn, door de, rennen, speelt, spelen, ~zonder, jaar',
  },
};
