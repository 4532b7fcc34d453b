import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const identities: Texts["identities"] = {
  title: "Comptes associés",
  lead: "Les façons de vous connecter à ce compte.",
  loading: "Chargement de vos comptes associés",
  email: "E-mail et mot de passe",
  phone: "Téléphone",
  connectedAt: (day) => rich`Associé le ${day}`,
  used: (time) => rich`Utilisé ${time}`,
  onlyOne:
    "C’est votre seule façon de vous connecter. Pour pouvoir la dissocier, ajoutez d’abord un autre mode de " +
    "connexion.",

  disconnect: "Dissocier",
  disconnectOf: (account) => `Dissocier ${account}`,
  disconnectTitle: (account) => `Dissocier ${account} ?`,
  disconnectText: "Vous ne pourrez plus vous connecter de cette façon.",
  providesEmail: (address) => `L’adresse e-mail de ce compte, ${address}, en provient.`,
  disconnecting: "Dissociation…",
  disconnected: (account) => `${account} est dissocié.`,

  another: "Associer un autre compte",
  anotherLead: "Vous pourrez ensuite vous connecter avec chacun d’eux.",
  loadingOthers: "Chargement des comptes possibles",
  connect: (provider) => `Associer ${provider}`,
};
