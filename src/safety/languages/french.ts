import type { Language } from '../terms.ts';

export const FRENCH: Language = {
  code: 'fr',
  terms: {
    neutral:
      'pieds nus, pied nu, nu pieds, œil nu, oeil nu, mains nues, main nue, bras nus, ' +
      'jambes nues, tête nue, épaules nues, arbre nu, arbres nus, branches nues, murs nus, ' +
      'mur nu, rouge à lèvres nude, couleur nude, vernis nude, teinte nude, teintes nude, ' +
      'maquillage nude, escarpins nude, tons nude, jeune femme, jeunes femmes, jeune homme, ' +
      'jeunes hommes, jeune couple, blanc de poulet, cancer du sein, au sein de, au sein du, ' +
      'au sein des, au sein d, rat taupe nu, rats taupes nus, mise à nu, éducation sexuelle, ' +
      'même sexe, égalité des sexes, file d attente, jeune fille à la perle, sexe du bébé, ' +
      'contre les abus sexuels, contre les violences sexuelles, chat nu, ré mineur, ' +
      'la mineur, mi mineur, mode mineur, gamme mineure, sol mineur, do mineur, ' +
      'garçon de café, garçons de café',
    minor:
      'enfant, enfants, petite fille, petites filles, petit garçon, petits garçons, ' +
      'fillette*, gamin*, gosse, gosses, ~mineur, mineure*, mineurs, écolier*, écolière*, ' +
      'collégien*, bambin*, maternelle, nourrisson*, tout petit, petits enfants',
    youth:
      '~fille, ~filles, garçon, garçons, adolescent*, ~ado, ~ados, bébé, bébés, lycéen*, ' +
      'jeune fille, jeunes filles, jeune garçon, ~fils, nouveau né*, élève, élèves, ' +
      'petite sœur, petit frère',
    girl: '~fille, ~filles, fillette*, gamine*, écolière*',
    grown: 'adulte*, majeure, majeures',
    adult:
      'femme, femmes, homme, hommes, ~dame, mère, père, maman, papa, couple, professeur*, ' +
      'maîtresse, artiste*, mariée',
    pronoun: '~elle, ~elles, ~il, ~ils, ~lui, ~sa, ~son, ~ses',
    private: '~vagin, vulve, testicules, parties intimes, organes génitaux, parties génitales',
    area:
      '~sein, ~seins, ~fesses, poitrine, décolleté, tétons, mamelons, cuisse, cuisses, ' +
      'entrejambe',
    soft: '~torse, culotte, culottes, sous vêtements, ~string, soutien gorge',
    exposure:
      '~nu, ~nue, ~nus, nues, dénudé*, ~exposé, ~exposés, exposée, exposées, découvert*, ' +
      'transparent*, écartées, ~visible, ~visibles',
    emphasis: 'gros plan, mettant en valeur, accent sur, moulant*, plan serré, grosse, grosses',
    nudity:
      '~nu, ~nue, ~nus, ~nues, nudité, dénudé*, déshabillé*, seins nus, sans vêtements, ' +
      'sans habits, dévêtu*, toute nue, toutes nues, tout nu, nudiste*, naturiste*',
    suggestive:
      'érotique*, érotisme, sensuel*, aguich*, provocant*, lascif, lascive*, suggestif*, ' +
      'suggestive*, en lingerie, en sous vêtements, en culotte',
    sexual:
      '~sexe, sexuel*, pornographi*, masturb*, ~viol, violée, inceste, faire l amour, ' +
      'fellation',
    negation: 'sans, pas de, pas d, aucun, aucune, ~ni, ~non, jamais',
    filler: '~de, ~d, ~la, ~le, ~les, ~l, ~et, contenu*, ~des, scène, scènes, élément*',
    either: '~ou, ~ni',
    medical:
      'médecin*, pédiatre*, hôpital, clinique, stéthoscope, radiographie, vaccin*, ' +
      'infirmière*, chirurgi*, consultation',
    care: 'allait*, ~couche, ~couches, table à langer, érythème',
    newborn: 'nouveau né*, nourrisson*, bébé',
    birth: 'naissance, accouchement, sage femme, peau à peau',
    art:
      'statue*, sculpture*, peinture*, marbre, bronze, fresque*, musée, tableau, angelot*, ' +
      'chérubin*',
    lesson: 'schéma, manuel scolaire, biologie, affiche',
    activity:
      'nage, nagent, natation, piscine, plage, ~mer, ~lac, maillot*, rivière, gymnast*, ' +
      'danse, ballet, judo, boxe',
    apart: '~et, pendant, tandis, près, devant, derrière, à côté, regard*, dessin*, puis',
    evidence: 'une, dans, avec, sur, pour, aux, chez, très, petite, petit, deux, est, debout',
  },
};
